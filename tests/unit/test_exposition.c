/* What Prometheus reads about runs. */
#include "tests/unit/unit.h"

#include "daemon/api/exposition.h"
#include "lib/text.h"

#include <jansson.h>
#include <string.h>

/* Written at 1,000 s after 1970. The GPU of n2 was last reported 181 s before. */
static const char two_runs[] =
    "{\"runs\": [{\"address\": \"7/train#1\", \"gpus\": ["
    "  {\"node\": \"n1\", \"gpu\": 0, \"model\": \"NVIDIA H200\", \"uuid\": \"GPU-1\","
    "   \"sampled\": 600, \"idle\": 20, \"time\": 980.0, \"seconds\": 10, \"util\": 97,"
    "   \"memory_mib\": 131072, \"power_w\": 655, \"xid\": null, \"ecc_corrected\": 3,"
    "   \"tensor_active\": 41},"
    "  {\"node\": \"n2\", \"gpu\": 0, \"model\": \"NVIDIA H200\", \"uuid\": \"GPU-2\","
    "   \"sampled\": 60, \"idle\": 0, \"time\": 809.0, \"seconds\": 10, \"util\": 55}],"
    " \"paces\": [{\"node\": \"n1\", \"step_seconds\": 0.5}],"
    " \"metrics\": {\"mfu\": 41.25, \"loss\": \"nan\", \"grad\": \"-inf\"}},"
    " {\"address\": \"8/a#1\", \"gpus\": ["
    "  {\"node\": \"n3\", \"gpu\": 1, \"model\": null, \"uuid\": null, \"sampled\": 10,"
    "   \"idle\": 10, \"time\": 990.0, \"seconds\": 10, \"util\": 0}],"
    " \"paces\": [], \"metrics\": {}}]}";

static void write_two_runs(struct text *text)
{
    json_t *json = json_loads(two_runs, 0, NULL);
    assert_non_null(json);
    exposition_write(json, 1000 * 1000, text);
    json_decref(json);
}

static void expect_family(const char *all, const char *expected)
{
    if (!strstr(all, expected))
        fail_msg("no\n%s\nin\n%s", expected, all);
}

static void families_have_the_names_labels_and_units_of_dcgm_exporter(void **state)
{
    (void)state;
    struct text text = {0};
    write_two_runs(&text);
    const char *all = text_string(&text);
    expect_family(all, "# HELP DCGM_FI_DEV_GPU_UTIL percent of the time in which a kernel ran\n"
                       "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
                       "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",modelName=\"NVIDIA H200\","
                       "Hostname=\"n1\",phased_run=\"7/train#1\"} 97\n"
                       "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"\",modelName=\"\",Hostname=\"n3\","
                       "phased_run=\"8/a#1\"} 0\n"
                       "# HELP DCGM_FI_DEV_MEM_COPY_UTIL");
    expect_family(all, "DCGM_FI_DEV_FB_USED{gpu=\"0\",UUID=\"GPU-1\",modelName=\"NVIDIA H200\","
                       "Hostname=\"n1\",phased_run=\"7/train#1\"} 131072\n");
    expect_family(all, "# TYPE DCGM_FI_DEV_ECC_SBE_VOL_TOTAL counter\n"
                       "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{");
    expect_family(all,
                  "# HELP DCGM_FI_DEV_ECC_DBE_VOL_TOTAL uncorrected errors of memory since the "
                  "driver was loaded\n");
    expect_family(
        all, "# HELP DCGM_FI_PROF_PIPE_TENSOR_ACTIVE share of cycles in which the tensor cores "
             "had work, 0 to 1 (from Hopper on)\n"
             "# TYPE DCGM_FI_PROF_PIPE_TENSOR_ACTIVE gauge\n"
             "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\",UUID=\"GPU-1\",modelName=\"NVIDIA "
             "H200\",Hostname=\"n1\",phased_run=\"7/train#1\"} 0.41\n");
    expect_family(all, "# TYPE phased_gpu_idle_seconds_total counter\n"
                       "phased_gpu_idle_seconds_total{gpu=\"0\",UUID=\"GPU-1\",modelName=\"NVIDIA "
                       "H200\",Hostname=\"n1\",phased_run=\"7/train#1\"} 20\n");
    text_fini(&text);
}

static void absent_and_old_values_are_left_out(void **state)
{
    (void)state;
    struct text text = {0};
    write_two_runs(&text);
    assert_null(strstr(text_string(&text), "Hostname=\"n2\""));
    expect_family(text_string(&text),
                  "# TYPE DCGM_FI_DEV_XID_ERRORS gauge\n# HELP DCGM_FI_PROF_SM_ACTIVE");
    text_fini(&text);
}

static void the_exposition_has_steps_and_metrics_of_runs(void **state)
{
    (void)state;
    struct text text = {0};
    write_two_runs(&text);
    expect_family(text_string(&text),
                  "# TYPE phased_step_seconds gauge\n"
                  "phased_step_seconds{Hostname=\"n1\",phased_run=\"7/train#1\"} 0.5\n"
                  "# HELP phased_metric newest value of a metric of a run\n"
                  "# TYPE phased_metric gauge\n"
                  "phased_metric{name=\"mfu\",phased_run=\"7/train#1\"} 41.25\n"
                  "phased_metric{name=\"loss\",phased_run=\"7/train#1\"} NaN\n"
                  "phased_metric{name=\"grad\",phased_run=\"7/train#1\"} -Inf\n");
    text_fini(&text);
}

static void workflows_have_a_state_phases_a_cost_and_a_budget(void **state)
{
    (void)state;
    struct text text = {0};
    struct exposition_workflows workflows = {0};
    json_t *first = json_loads(
        "{\"workflow\": 7, \"name\": \"trm\", \"state\": \"running\", \"gpu_seconds\": 120.5,"
        " \"cost_usd\": 3.25, \"budget\": {\"usd\": 15, \"gpu_hours\": 48}, \"phases\": ["
        "  {\"state\": \"succeeded\"}, {\"state\": \"queued\"}, {\"state\": \"queued\"},"
        "  {\"state\": \"active\", \"members\": 2}]}",
        0, NULL);
    json_t *second = json_loads("{\"workflow\": 8, \"name\": \"a\\\"b\", \"state\": \"held\","
                                " \"gpu_seconds\": 0.0, \"cost_usd\": null, \"phases\": []}",
                                0, NULL);
    assert_non_null(first);
    assert_non_null(second);
    exposition_add_workflow(&workflows, first);
    exposition_add_workflow(&workflows, second);
    exposition_write_workflows(&workflows, &text);
    assert_string_equal(
        text_string(&text),
        "# HELP phased_workflow_state 1: the workflow is in this state\n"
        "# TYPE phased_workflow_state gauge\n"
        "phased_workflow_state{workflow=\"7\",name=\"trm\",state=\"running\"} 1\n"
        "phased_workflow_state{workflow=\"8\",name=\"a\\\"b\",state=\"held\"} 1\n"
        "# HELP phased_phases phases of the workflow in this state\n"
        "# TYPE phased_phases gauge\n"
        "phased_phases{workflow=\"7\",name=\"trm\",state=\"queued\"} 2\n"
        "phased_phases{workflow=\"7\",name=\"trm\",state=\"succeeded\"} 1\n"
        "# HELP phased_workflow_cost_usd what the workflow has cost, dollars\n"
        "# TYPE phased_workflow_cost_usd gauge\n"
        "phased_workflow_cost_usd{workflow=\"7\",name=\"trm\"} 3.25\n"
        "# HELP phased_workflow_gpu_seconds_total GPU seconds of the workflow\n"
        "# TYPE phased_workflow_gpu_seconds_total counter\n"
        "phased_workflow_gpu_seconds_total{workflow=\"7\",name=\"trm\"} 120.5\n"
        "phased_workflow_gpu_seconds_total{workflow=\"8\",name=\"a\\\"b\"} 0\n"
        "# HELP phased_workflow_budget what the workflow may cost, in the unit\n"
        "# TYPE phased_workflow_budget gauge\n"
        "phased_workflow_budget{workflow=\"7\",name=\"trm\",unit=\"usd\"} 15\n"
        "phased_workflow_budget{workflow=\"7\",name=\"trm\",unit=\"gpu_hours\"} 48\n");
    json_decref(first);
    json_decref(second);
    text_fini(&text);
}

static void labels_are_escaped(void **state)
{
    (void)state;
    struct text text = {0};
    json_t *json = json_pack("{s:[{s:s, s:[{s:s, s:f}]}]}", "runs", "address", "1/a#1", "paces",
                             "node", "a\"b\\c\nd", "step_seconds", 1.0);
    exposition_write(json, 0, &text);
    expect_family(text_string(&text), "Hostname=\"a\\\"b\\\\c\\nd\",");
    json_decref(json);
    text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_have_the_names_labels_and_units_of_dcgm_exporter),
        cmocka_unit_test(absent_and_old_values_are_left_out),
        cmocka_unit_test(the_exposition_has_steps_and_metrics_of_runs),
        cmocka_unit_test(workflows_have_a_state_phases_a_cost_and_a_budget),
        cmocka_unit_test(labels_are_escaped),
    };
    return cmocka_run_group_tests_name("exposition", tests, NULL, NULL);
}
