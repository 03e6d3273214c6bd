/* Where phases fit a cluster, and what is dangerous there. */
#include "tests/unit/unit.h"

#include "daemon/core/model.h"
#include "daemon/outlook/fit.h"
#include "daemon/slurm/survey.h"
#include "lib/text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* n1 is idle, n2 has work, n3 is down. `short` has all three and an hour, `prod` has n4. */
static struct survey_node nodes[] = {
    {"n1", "gpu:h100:8(S:0-1),nvme:1", true, true, 64, 512000},
    {"n2", "gpu:h100:8(S:0,1)", true, false, 64, 512000},
    {"n3", "gpu:h200:8", false, false, 64, 512000},
    {"n4", "gpu:h100:4,gpu:a100:4", true, true, 32, 256000},
};

static size_t all[] = {0, 1, 2, 3}, last[] = {3};

enum { SHORT, PROD };

static struct cluster_survey survey_make(struct survey_partition partitions[2],
                                         enum survey_preemption preemption, uint32_t grace_s)
{
    partitions[SHORT] =
        (struct survey_partition){"short", true, true, 60, UINT32_MAX, preemption, grace_s, all, 3};
    partitions[PROD] = (struct survey_partition){
        "prod", false, true, UINT32_MAX, 1, SURVEY_PREEMPT_NEVER, 0, last, 1};
    return (struct cluster_survey){
        .nodes = nodes, .node_count = 4, .partitions = partitions, .partition_count = 2};
}

static void the_gpus_of_a_gres_are_counted_by_type(void **state)
{
    (void)state;
    static const struct {
        const char *gres, *type;
        unsigned count;
    } rows[] = {
        {"gpu:8", NULL, 8},
        {"gpu:8", "h100", 0},
        {"gpu:h100:8(S:0-1),nvme:1", "h100", 8},
        {"gpu:h100:8(S:0,1),gpu:a100:2", NULL, 10},
        {"gpu:h100:8(S:0,1),gpu:a100:2", "a100", 2},
        {"gpu:h1000:8", "h100", 0},
        {"nvme:gpu:3", NULL, 0},
        {"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (survey_gpus(rows[i].gres, rows[i].type) != rows[i].count)
            fail_msg("%s of %s: %u", rows[i].type ? rows[i].type : "any", rows[i].gres,
                     survey_gpus(rows[i].gres, rows[i].type));
}

static void a_fit_says_what_is_missing_or_where_the_job_fits(void **state)
{
    (void)state;
    static const struct {
        unsigned nodes, gpus;
        const char *type, *alternatives, *options;
        unsigned time_s;
        bool has_checkpoint;
        const char *excluded, *missing; /* NULL: it fits */
        unsigned count, idle;           /* nodes of `short` */
    } rows[] = {
        {1, 8, "h100", NULL, "{}", 3600, false, NULL, NULL, 2, 1},
        {2, 8, NULL, NULL, "{}", 3600, false, NULL, NULL, 2, 1},
        {1, 8, "h200", "h200,h100", "{}", 3600, false, NULL, NULL, 2, 1},
        {1, 8, "h100", NULL, "{\"exclude\": \"n2\"}", 3600, false, NULL, NULL, 1, 1},
        {1, 8, "h100", NULL, "{\"exclude\": \"n[2-3],x9\"}", 3600, false, NULL, NULL, 1, 1},
        {1, 8, "h100", NULL, "{\"exclude\": \"n[01-02]\"}", 3600, false, NULL, NULL, 2, 1},
        {1, 8, "h100", NULL, "{\"exclude\": \"n[1-2]\"}", 3600, false, NULL,
         "no partition has nodes with 8 h100", 0, 0},
        {1, 8, "h100", NULL, "{}", 7200, true, NULL, NULL, 2, 1},
        {1, 8, "h100", NULL, "{\"qos\": \"long\"}", 7200, false, NULL, NULL, 2, 1},
        {1, 8, "h200", NULL, "{}", 60, false, NULL, NULL, 0, 0}, /* when n3 is up again */
        {2, 8, "h200", NULL, "{}", 60, false, NULL, "no partition has 2 nodes with 8 h200", 0, 0},
        {9, 1, NULL, NULL, "{}", 60, false, NULL, "no partition has 9 nodes with 1 GPU", 0, 0},
        {9, 2, NULL, NULL, "{}", 60, false, NULL, "no partition has 9 nodes with 2 GPUs", 0, 0},
        {3, 8, "h100", NULL, "{}", 60, false, NULL, "no partition has 3 nodes with 8 h100", 0, 0},
        {1, 0, NULL, NULL, "{\"mem\": 600000}", 60, false, NULL,
         "no partition has nodes with 600000 MB", 0, 0},
        {1, 4, "a100", NULL, "{}", 60, false, NULL,
         "partition short does not have nodes with 4 a100; it fits partition prod", 0, 0},
        {1, 8, "h100", NULL, "{}", 7200, false, NULL,
         "partition short allows 60 minutes, and `time` is 120: with a `checkpoint` the phase "
         "would "
         "go on in one job after another",
         0, 0},
        {2, 8, "h100", NULL, "{}", 60, false, "n9,n1", NULL, 1, 0},
        {1, 1, NULL, NULL, "{\"partition\": \"none\"}", 60, false, NULL,
         "there is no partition none; it fits partition short, prod", 2, 1},
    };
    struct survey_partition partitions[2];
    struct cluster_survey survey = survey_make(partitions, SURVEY_PREEMPT_NEVER, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct phase phase = {
            .nodes = rows[i].nodes,
            .gpus_per_node = rows[i].gpus,
            .gpu_type = (char *)rows[i].type,
            .alternatives = (char *)rows[i].alternatives,
            .slurm_options = (char *)rows[i].options,
            .time_s = rows[i].time_s,
            .has_checkpoint = rows[i].has_checkpoint,
        };
        json_t *fit = fit_judge(&survey, &phase, rows[i].excluded);
        const char *missing = json_string_value(json_object_get(fit, "missing"));
        const json_t *first = json_array_get(json_object_get(fit, "partitions"), 0);
        if ((missing == NULL) != (rows[i].missing == NULL) ||
            (missing && !text_equal(missing, rows[i].missing)))
            fail_msg("row %zu: %s", i, missing ? missing : "it fits");
        if (rows[i].count) {
            assert_int_equal(json_integer_value(json_object_get(first, "nodes")), rows[i].count);
            assert_int_equal(json_integer_value(json_object_get(first, "idle")), rows[i].idle);
        }
        json_decref(fit);
    }
}

static void warnings_are_about_the_partitions_of_the_job(void **state)
{
    (void)state;
    static const struct {
        enum survey_preemption preemption;
        uint32_t grace_s;
        bool has_checkpoint;
        unsigned time_s;
        const char *options, *expected[2]; /* the beginnings of the warnings; NULL: no more */
    } rows[] = {
        {SURVEY_PREEMPT_NEVER, 0, false, 60, "{}", {NULL}},
        {SURVEY_PREEMPT_REQUEUE, 300, true, 60, "{}", {NULL}},
        {SURVEY_PREEMPT_REQUEUE, 0, false, 60, "{\"partition\": \"prod\"}", {NULL}},
        {SURVEY_PREEMPT_REQUEUE,
         300,
         false,
         60,
         "{}",
         {"partition short: jobs are preempted, and the phase has no `checkpoint`: a preemption "
          "loses all its work, and the next run begins anew"}},
        {SURVEY_PREEMPT_REQUEUE,
         0,
         true,
         60,
         "{}",
         {"partition short: jobs that are preempted get 0 s (GraceTime)"}},
        {SURVEY_PREEMPT_CANCEL,
         300,
         true,
         60,
         "{}",
         {"partition short: jobs that are preempted are cancelled (PreemptMode): if a job does not "
          "requeue itself in time, the run that follows begins anew in the queue"}},
        {SURVEY_PREEMPT_SUSPEND,
         0,
         false,
         60,
         "{}",
         {"partition short: jobs that are preempted are suspended"}},
        {SURVEY_PREEMPT_CANCEL,
         0,
         true,
         7200,
         "{}",
         {"partition short: jobs that are preempted get 0 s",
          "partition short: jobs that are preempted are cancelled"}},
    };
    struct survey_partition partitions[2];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cluster_survey survey = survey_make(partitions, rows[i].preemption, rows[i].grace_s);
        struct phase phase = {.nodes = 1,
                              .gpus_per_node = 4,
                              .gpu_type = (char *)"h100",
                              .slurm_options = (char *)rows[i].options,
                              .time_s = rows[i].time_s,
                              .stop_s = 90,
                              .has_checkpoint = rows[i].has_checkpoint};
        json_t *fit = fit_judge(&survey, &phase, NULL);
        const json_t *dangers = json_object_get(fit, "dangers");
        for (size_t j = 0; j < 2; j++) {
            const char *danger = json_string_value(json_array_get(dangers, j));
            const char *expected = rows[i].expected[j];
            if ((danger == NULL) != (expected == NULL) ||
                (danger && strncmp(danger, expected, strlen(expected)) != 0))
                fail_msg("row %zu: %s", i, danger ? danger : "no danger");
        }
        assert_int_equal(json_array_size(dangers) == 3, rows[i].time_s > 3600);
        json_decref(fit);
    }
}

#define WAITS                                                                                      \
    "partition short: the phase has to wait: it needs 1 node; suitable nodes that jobs can use: 0"

static void a_warning_names_nodes_that_are_not_available_now(void **state)
{
    (void)state;
    static const struct {
        const char *type, *excluded, *danger;
        bool waits; /* the job waits for nodes that Slurm does not have now */
    } rows[] = {
        {"h100", NULL, NULL, false},
        {"h100", "n1",
         "partition short: suitable nodes that jobs can use: 1; left out: 1 (phasectl nodes)",
         false},
        {"h100", "n1,n2", WAITS "; left out: 2 (phasectl nodes)", false},
        {"h200", NULL, WAITS "; down or drained: 1", true},
        {"h200", "n3", WAITS "; down or drained: 1", true},
    };
    struct survey_partition partitions[2];
    struct cluster_survey survey = survey_make(partitions, SURVEY_PREEMPT_NEVER, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct phase phase = {.nodes = 1,
                              .gpus_per_node = 8,
                              .gpu_type = (char *)rows[i].type,
                              .slurm_options = (char *)"{}",
                              .time_s = 60};
        json_t *fit = fit_judge(&survey, &phase, rows[i].excluded);
        const char *danger = json_string_value(json_array_get(json_object_get(fit, "dangers"), 0));
        assert_true(json_is_null(json_object_get(fit, "missing")));
        assert_int_equal(fit_waits(&survey, &phase, phase.gpu_type), rows[i].waits);
        if (!text_equal(danger ? danger : "", rows[i].danger ? rows[i].danger : ""))
            fail_msg("row %zu: %s", i, danger ? danger : "no danger");
        json_decref(fit);
    }
}

static void a_job_that_fits_no_node_does_not_wait(void **state)
{
    (void)state;
    struct survey_partition partitions[2];
    struct cluster_survey survey = survey_make(partitions, SURVEY_PREEMPT_NEVER, 0);
    struct phase phase = {.nodes = 1,
                          .gpus_per_node = 8,
                          .gpu_type = (char *)"h300",
                          .alternatives = (char *)"h300,h200",
                          .slurm_options = (char *)"{}",
                          .time_s = 60};
    assert_false(fit_waits(&survey, &phase, "h300"));
    assert_true(fit_waits(&survey, &phase, "h200"));
}

static void estimates_are_compared_with_budget_and_expectation(void **state)
{
    (void)state;
    static const struct {
        double usd, gpu_hours, hours;
        bool is_measured;
        const char *said; /* NULL: no message */
    } rows[] = {
        {70, 6, 0.7, true, NULL},
        {137.2, 11.2, 1.4, true,
         "similar runs took $137.20, more than the $49 to $98 that are expected; similar runs took "
         "1.40 hours, more than the 0.5 to 1 hours that are expected"},
        {98, 8, 1, false, NULL},
        {392, 32, 4, false, NULL}, /* an upper bound, which is not a prediction */
        {39.2, 3.2, 0.4, false,
         "its `time` allows 0.40 hours, less than the 0.5 to 1 hours that are expected"},
        {39.2, 3.2, 0.4, true, NULL}, /* better than expected */
        {39.2, 3.2, NAN, false, NULL},
        {NAN, 48.5, NAN, false, "it may cost 48.50 GPU hours, and its budget is 48 GPU hours"},
        {1200000, 48, NAN, false, "it may cost $1200000.00, and its budget is $1000000"},
    };
    json_t *budget = json_pack("{s:i, s:i}", "usd", 1000000, "gpu_hours", 48);
    json_t *expect = json_pack("{s:[i, i], s:[f, i]}", "usd", 49, 98, "hours", 0.5, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct estimate estimate = {.is_measured = rows[i].is_measured};
        struct text text = {0};
        json_t *dangers = json_array(), *danger;
        size_t j;
        estimate.amounts[AMOUNT_USD] = rows[i].usd;
        estimate.amounts[AMOUNT_GPU_HOURS] = rows[i].gpu_hours;
        estimate.amounts[AMOUNT_HOURS] = rows[i].hours;
        estimate_judge_budget(&estimate, budget, dangers);
        estimate_judge_expected(&estimate, expect, dangers);
        json_array_foreach(dangers, j, danger)
            text_addf(&text, "%s%s", j ? "; " : "", json_string_value(danger));
        assert_string_equal(text_string(&text), rows[i].said ? rows[i].said : "");
        text_fini(&text);
        json_decref(dangers);
    }
    json_decref(budget);
    json_decref(expect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gpus_of_a_gres_are_counted_by_type),
        cmocka_unit_test(a_fit_says_what_is_missing_or_where_the_job_fits),
        cmocka_unit_test(warnings_are_about_the_partitions_of_the_job),
        cmocka_unit_test(a_warning_names_nodes_that_are_not_available_now),
        cmocka_unit_test(a_job_that_fits_no_node_does_not_wait),
        cmocka_unit_test(estimates_are_compared_with_budget_and_expectation),
    };
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
