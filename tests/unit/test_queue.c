/* Limits of the queue: the file, the window of the day, and which jobs are submitted. */
#include "tests/unit/unit.h"

#include "daemon/admission/admission_private.h"
#include "daemon/admission/round.h"
#include "lib/error.h"
#include "lib/spec/queue_limits.h"
#include "lib/text.h"
#include "lib/units.h"

#include <string.h>

static void limits_are_read_and_mistakes_are_reported_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json, *problem;
    } cases[] = {
        {"", "{}", NULL},
        {"# jobs: 4\n", "{}", NULL},
        {"jobs: 4\ngpus: 64\n", "{\"jobs\": 4, \"gpus\": 64}", NULL},
        {"running_jobs: 4\n", "{\"running_jobs\": 4}", NULL},
        {"month: {usd: 5000, gpu_hours: 2.5}\n", "{\"month\": {\"usd\": 5000, \"gpu_hours\": 2.5}}",
         NULL},
        {"jobs: 0\n", NULL, "limits.yaml:1:7: jobs: less than 1\n"},
        {"gpu: 4\n", NULL, "limits.yaml:1:1: gpu: unknown key (did you mean gpus?)\n"},
        {"month: 5\n", NULL,
         "limits.yaml:1:8: month: must be a budget, such as {usd: 500, gpu_hours: 48}\n"},
        {"- jobs\n", NULL,
         "limits.yaml:1:1: must be a map of limits: jobs, running_jobs, gpus "
         "and month\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec_problems problems = {.file = text_format("limits.yaml")};
        struct text lines = {0};
        json_t *limits = queue_limits_read(cases[i].text, strlen(cases[i].text), &problems);
        json_t *expected = cases[i].json ? json_loads(cases[i].json, 0, NULL) : NULL;
        spec_problems_text(&problems, &lines);
        assert_string_equal(text_string(&lines), cases[i].problem ? cases[i].problem : "");
        assert_int_equal(limits != NULL, cases[i].json != NULL);
        assert_true(!expected || json_equal(limits, expected));
        json_decref(expected);
        json_decref(limits);
        text_fini(&lines);
        spec_problems_fini(&problems);
    }
}

static void a_window_may_go_over_midnight(void **state)
{
    (void)state;
    static const struct {
        const char *window;
        unsigned minute;
        bool is_open;
    } cases[] = {
        {"08:00-20:00", 8 * 60, true},
        {"08:00-20:00", 20 * 60, false},
        {"08:00-20:00", 8 * 60 - 1, false},
        {"20:00-08:00", 20 * 60, true},
        {"20:00-08:00", 0, true},
        {"20:00-08:00", 8 * 60 - 1, true},
        {"20:00-24:00", 23 * 60 + 59, true},
        {"20:00-24:00", 0, false},
        {"00:00-24:00", 720, true},
        {"20:00-08:00", 8 * 60, false},
        {"00:00-23:59", 23 * 60 + 59, false},
    };
    static const char *const bad[] = {"",
                                      "8-20",
                                      "08:00-08:00",
                                      "24:00-08:00",
                                      "08:60-09:00",
                                      "08:00-20:00 ",
                                      "-8:00-20:00",
                                      "08:00",
                                      "20:00-24:01",
                                      "20:00-25:00"};
    unsigned from, to;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(units_parse_window(cases[i].window, &from, &to, NULL), 0);
        assert_int_equal(queue_is_open(from, to, cases[i].minute), cases[i].is_open);
    }
    assert_true(queue_is_open(0, 0, 5));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(units_parse_window(bad[i], &from, &to, NULL) < 0);
}

/* --- A round ---------------------------------------------------------------------------------- */

/* Checks the jobs in their order, each with a letter for what it waits for. */
static void assert_round(struct round_job *jobs, size_t count, struct round_limits limits,
                         struct round_limits used, round_permit *may, const char *expected)
{
    static const char letters[] = {
        [ROUND_GOES] = '!', [ROUND_BUDGET] = '$',  [ROUND_NEVER] = 'x',  [ROUND_JOBS] = 'j',
        [ROUND_GPUS] = 'g', [ROUND_RUNNING] = 'r', [ROUND_BEHIND] = 'b',
    };
    struct text text = {0};
    round_decide(jobs, count, &limits, &used, may, NULL);
    for (size_t i = 0; i < count; i++)
        text_addf(&text, "%s%u%c", i ? " " : "", (unsigned)jobs[i].id, letters[jobs[i].wait]);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
}

static void jobs_follow_priority_and_then_alternate_between_workflows(void **state)
{
    (void)state;
    struct round_job jobs[] = {
        {.workflow = 1, .id = 1, .run = 1},
        {.workflow = 1, .id = 2, .run = 2},
        {.workflow = 1, .id = 3, .run = 3},
        {.workflow = 2, .id = 4, .run = 4, .has = 2},
        {.workflow = 3, .id = 5, .run = 5},
        {.workflow = 4, .id = 6, .run = 6, .priority = 1, .has = 9},
    };
    assert_round(jobs, 6, (struct round_limits){.jobs = 5}, (struct round_limits){.jobs = 2}, NULL,
                 "6! 1! 5! 2j 3j 4j");
}

static void only_a_job_without_gpus_overtakes_a_large_job(void **state)
{
    (void)state;
    struct round_job jobs[] = {
        {.workflow = 1, .id = 1, .run = 1, .gpus = 16}, /* this job never fits */
        {.workflow = 2, .id = 2, .run = 2, .gpus = 8},
        {.workflow = 3, .id = 3, .run = 3, .gpus = 2},
        {.workflow = 4, .id = 4, .run = 4, .gpus = 4},
        {.workflow = 5, .id = 5, .run = 5},
    };
    assert_round(jobs, 5, (struct round_limits){.gpus = 8}, (struct round_limits){.gpus = 6}, NULL,
                 "1x 2g 3b 4g 5!");
}

/* If only one of several jobs will run, all of them may be in Slurm. */
static void candidates_of_one_run_count_once(void **state)
{
    (void)state;
    struct round_job jobs[] = {
        {.workflow = 1, .id = 1, .run = 1, .gpus = 4},
        {.workflow = 1, .id = 2, .run = 1, .gpus = 4},
        {.workflow = 1, .id = 3, .run = 3, .gpus = 4},
        {.workflow = 2, .id = 9, .run = 8, .gpus = 4, .is_candidate = true, .has = 1},
    };
    struct round_job again[4];
    memcpy(again, jobs, sizeof jobs);
    assert_round(jobs, 4, (struct round_limits){.running = 2}, (struct round_limits){.running = 1},
                 NULL, "1! 2! 3r 9b");
    assert_round(again, 4, (struct round_limits){.jobs = 9, .gpus = 12},
                 (struct round_limits){.jobs = 1, .gpus = 4}, NULL, "1! 2! 3! 9!");
}

static bool is_odd(void *context, struct round_job *job)
{
    (void)context;
    job->wait = job->id % 2 ? ROUND_GOES : ROUND_BUDGET;
    return job->wait == ROUND_GOES;
}

static void a_workflow_that_may_not_submit_lets_others_go(void **state)
{
    (void)state;
    struct round_job jobs[] = {
        {.workflow = 2, .id = 2, .run = 2},
        {.workflow = 3, .id = 3, .run = 3},
        {.workflow = 4, .id = 4, .run = 4},
    };
    assert_round(jobs, 3, (struct round_limits){.jobs = 1}, (struct round_limits){0}, is_odd,
                 "2$ 3! 4j");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_read_and_mistakes_are_reported_with_their_place),
        cmocka_unit_test(a_window_may_go_over_midnight),
        cmocka_unit_test(jobs_follow_priority_and_then_alternate_between_workflows),
        cmocka_unit_test(only_a_job_without_gpus_overtakes_a_large_job),
        cmocka_unit_test(candidates_of_one_run_count_once),
        cmocka_unit_test(a_workflow_that_may_not_submit_lets_others_go),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
