/* How people see the GPUs of a run. */
#include "tests/unit/unit.h"

#include "cli/gpu_view.h"
#include "cli/terminal.h"
#include "lib/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOW_S = 6000 };

static const char two_nodes[] =
    "{\"gpus\": ["
    " {\"node\": \"n1\", \"gpu\": 0, \"model\": \"NVIDIA H200\", \"memory_total_mib\": 143771,"
    "  \"sampled\": 600, \"idle\": 60, \"time\": 1.0, \"seconds\": 10, \"util\": 98,"
    "  \"memory_mib\": 120000, \"power_w\": 650, \"temperature_c\": 60, \"sm_clock_mhz\": 1980,"
    "  \"clock_reasons\": 4, \"ecc_uncorrected\": 0, \"xid\": null, \"tensor_active\": 41},"
    " {\"node\": \"n1\", \"gpu\": 1, \"model\": \"NVIDIA H200\", \"memory_total_mib\": 143771,"
    "  \"sampled\": 600, \"idle\": 0, \"time\": 1.0, \"seconds\": 10, \"util\": 90,"
    "  \"memory_mib\": 110000, \"power_w\": 640, \"temperature_c\": 91, \"sm_clock_mhz\": 1200,"
    "  \"clock_reasons\": 36, \"ecc_uncorrected\": 0, \"xid\": null, \"tensor_active\": null},"
    " {\"node\": \"n2\", \"gpu\": 0, \"model\": null, \"memory_total_mib\": null,"
    "  \"sampled\": 0, \"idle\": 0, \"time\": 1.0, \"seconds\": 10, \"util\": null,"
    "  \"memory_mib\": null, \"power_w\": null, \"temperature_c\": null, \"xid\": 79}],"
    " \"paces\": ["
    " {\"node\": \"n1\", \"step\": 1200, \"step_seconds\": 0.5, \"mean_step_seconds\": 0.6},"
    " {\"node\": \"n2\", \"step\": 900, \"step_seconds\": 0.8, \"mean_step_seconds\": 0.8}]}";

static const char no_driver[] =
    "{\"gpus\": [], \"paces\": [{\"node\": \"n1\", \"step\": 7, \"step_seconds\": 12.5}]}";

static void expect(const char *reply,
                   void (*write)(const struct terminal *, const json_t *, struct text *),
                   const char *expected)
{
    const struct terminal terminal = {.fd = -1};
    struct text text = {0};
    char *quoted = strdup(reply);
    for (char *c = quoted; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *json = json_loads(quoted, 0, NULL);
    free(quoted);
    assert_non_null(json);
    write(&terminal, json, &text);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
    json_decref(json);
}

static void expect_line(const char *reply, void (*write)(const json_t *, struct text *),
                        const char *expected)
{
    struct text text = {0};
    json_t *json = json_loads(reply, 0, NULL);
    assert_non_null(json);
    write(json, &text);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
    json_decref(json);
}

static void nodes(const struct terminal *terminal, const json_t *reply, struct text *text)
{
    gpu_view_nodes(terminal, reply, NOW_S, text);
}

static void nodes_without_steps(const struct terminal *terminal, const json_t *reply,
                                struct text *text)
{
    gpu_view_nodes(terminal, reply, NAN, text);
}

static void the_line_of_a_node_shows_slow_nodes_and_faults(void **state)
{
    (void)state;
    expect(two_nodes, nodes_without_steps,
           "NODE  TAKES  GPUS  BUSY    LEAST  IDLE       MEMORY  POWER  TEMP  NOTE\n"
           "n1     0.5s     2   94%  90% (1)    5%  125.8/151GB   645W   91C  "
           "GPU 1: slowed by heat\n"
           "n2     0.8s     1                                                 "
           "0.62 as fast as n1; GPU 0: no data, Xid 79\n");
}

static void the_step_of_a_node_has_its_age(void **state)
{
    (void)state;
    expect("{'gpus': [], 'paces': ["
           " {'node': 'n1', 'step': 1200, 'step_seconds': 0.5, 'time': 5960},"
           " {'node': 'n2', 'step': 7, 'step_seconds': 0.5, 'time': 6001}]}",
           nodes,
           "NODE  STEP           TAKES  GPUS  BUSY  LEAST  IDLE  MEMORY  POWER  TEMP  NOTE\n"
           "n1    1200, 40s ago   0.5s     0                                          "
           "no GPUs reported\n"
           "n2    7, 0s ago       0.5s     0                                          "
           "no GPUs reported\n");
    expect(no_driver, nodes,
           "NODE  STEP  TAKES  GPUS  BUSY  LEAST  IDLE  MEMORY  POWER  TEMP  NOTE\n"
           "n1    7     12.5s     0                                          "
           "no GPUs reported\n");
}

static void the_line_of_a_gpu_leaves_unknown_values_blank(void **state)
{
    (void)state;
    expect(two_nodes, gpu_view_each,
           "NODE  GPU  MODEL        BUSY  TENSOR  IDLE       MEMORY  POWER  TEMP    CLOCK  NOTE\n"
           "n1      0  NVIDIA H200   98%     41%   10%  125.8/151GB   650W   60C  1980MHz\n"
           "n1      1  NVIDIA H200   90%            0%  115.3/151GB   640W   91C  1200MHz  "
           "slowed by heat\n"
           "n2      0                                                                      "
           "no data, Xid 79\n");
}

static void all_gpus_fit_into_one_line(void **state)
{
    (void)state;
    expect_line(two_nodes, gpu_view_summary,
                "3 x NVIDIA H200, 94% busy, 125.8 of 151 GB, 645 W, idle 5% of the time; "
                "in trouble: phasectl gpus");
    expect_line(two_nodes, gpu_view_step_time, "0.5 s on n1, 0.8 s on n2");
    expect_line(no_driver, gpu_view_summary, "");
    expect_line(no_driver, gpu_view_step_time, "12.5 s");
    expect_line("{}", gpu_view_step_time, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_of_a_node_shows_slow_nodes_and_faults),
        cmocka_unit_test(the_step_of_a_node_has_its_age),
        cmocka_unit_test(the_line_of_a_gpu_leaves_unknown_values_blank),
        cmocka_unit_test(all_gpus_fit_into_one_line),
    };
    return cmocka_run_group_tests_name("gpu_view", tests, NULL, NULL);
}
