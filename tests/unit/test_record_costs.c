/* Costs in the record: what came of each hour that was paid for, what was expected, what will come.
 */
#include "tests/unit/record.h"

#include "daemon/store/cost.h"
#include "daemon/store/projection.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

enum { HOUR_MS = 3600 * 1000, RUNS_MAX = 4 };

/* An attempt at the first phase, each of an hour, from one step to another. */
struct attempt {
    enum run_outcome outcome;
    int64_t resumes_at;  /* a checkpoint of that step; 0: it begins anew */
    int64_t last, saved; /* steps; 0: it has saved none */
};

static void add_attempt(struct record *record, struct phase *phase, unsigned number,
                        const struct attempt *attempt)
{
    struct run *run = record_add_run(record, phase, 10 + number, 20 + number);
    struct error err;
    run->state = RUN_ENDED;
    run->outcome = attempt->outcome;
    run->started_ms = run->job->started_ms = 1790000000000 + 2 * number * (int64_t)HOUR_MS;
    run->ended_ms = run->job->ended_ms = run->started_ms + HOUR_MS;
    run->job->ended = true;
    run->last_step = attempt->last;
    if (attempt->resumes_at) {
        run->resume_path = text_format("/out/%lld", (long long)attempt->resumes_at);
        run->resume_step = attempt->resumes_at;
    }
    record_save_run(record, run);
    char *path = text_format("/out/%lld", (long long)attempt->saved);
    const struct store_checkpoint checkpoint = {
        .run = run->id, .path = path, .step = attempt->saved, .bytes = -1};
    record_begin(record);
    if (attempt->saved && store_checkpoint_add(record->store, &checkpoint, &err) < 0)
        fail_msg("%s", err.message);
    record_commit(record);
    free(path);
}

static const struct {
    const char *name;
    struct attempt attempts[RUNS_MAX]; /* up to the one without a last step */
    const char *minutes;               /* of each run, by what came of them */
} useful_rows[] = {
    {"what the next run goes on from is useful",
     {{OUTCOME_PREEMPTED, 0, 100, 75}, {OUTCOME_SUCCEEDED, 75, 200, 200}},
     "1 preempted 15,1 useful 45,2 useful 60"},
    {"what may be gone on from is useful",
     {{OUTCOME_FAILED, 0, 100, 75}},
     "1 failed 15,1 useful 45"},
    {"a checkpoint that nothing goes on from is of no use",
     {{OUTCOME_FAILED, 0, 100, 75}, {OUTCOME_SUCCEEDED, 0, 200, 200}},
     "1 failed 60,2 useful 60"},
    {"a beginning anew makes all runs before it useless",
     {{OUTCOME_PREEMPTED, 0, 100, 100},
      {OUTCOME_FAILED, 100, 200, 200},
      {OUTCOME_SUCCEEDED, 0, 200, 200}},
     "1 preempted 60,2 failed 60,3 useful 60"},
    {"a return to an earlier checkpoint takes the steps after it back",
     {{OUTCOME_PREEMPTED, 0, 100, 100},
      {OUTCOME_FAILED, 100, 200, 200},
      {OUTCOME_SUCCEEDED, 100, 200, 200}},
     "1 useful 60,2 failed 60,3 useful 60"},
    {"what succeeded and was begun anew was repeated",
     {{OUTCOME_SUCCEEDED, 0, 100, 100}, {OUTCOME_SUCCEEDED, 0, 100, 100}},
     "1 repeated 60,2 useful 60"},
    {"what succeeded and was gone on from is useful",
     {{OUTCOME_SUCCEEDED, 0, 100, 100}, {OUTCOME_SUCCEEDED, 100, 200, 200}},
     "1 useful 60,2 useful 60"},
};

static void steps_are_useful_when_they_were_gone_on_from(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof useful_rows / sizeof *useful_rows; i++) {
        struct record record;
        record_open(&record);
        struct workflow *workflow = record_workflow(1);
        record_insert(&record, workflow);
        for (unsigned j = 0; j < RUNS_MAX && useful_rows[i].attempts[j].last; j++)
            add_attempt(&record, &workflow->phases[0], j, &useful_rows[i].attempts[j]);
        char *minutes = record_ask(&record, "SELECT (run - 9) || ' ' || cause || ' ' ||"
                                            "       CAST(round(seconds / 60) AS INTEGER)"
                                            "  FROM v_cost ORDER BY run, cause");
        if (!text_equal(minutes, useful_rows[i].minutes))
            fail_msg("%s: \"%s\", not \"%s\"", useful_rows[i].name, minutes,
                     useful_rows[i].minutes);
        free(minutes);
        record_assert(&record,
                      "SELECT abs((SELECT sum(gpu_hours) FROM v_cost)"
                      "           - (SELECT sum(gpu_hours) FROM v_run)) < 0.001",
                      "1");
        workflow_free(workflow);
        record_close(&record);
    }
}

/* A rung's run is what its matrix judges by, also where the next rung begins anew. */
static void what_a_member_has_shown_is_useful(void **state)
{
    (void)state;
    static const struct attempt attempts[] = {{OUTCOME_SUCCEEDED, 0, 100, 0},
                                              {OUTCOME_SUCCEEDED, 0, 300, 0}};
    struct record record;
    record_open(&record);
    struct workflow *workflow = record_workflow(1);
    workflow->phases[0].matrix = &workflow->phases[1];
    workflow->phases[1].is_matrix = true;
    workflow->phases[1].rung_count = 2;
    record_insert(&record, workflow);
    for (unsigned i = 0; i < 2; i++)
        add_attempt(&record, &workflow->phases[0], i, &attempts[i]);
    record_assert(&record, "SELECT DISTINCT cause FROM v_cost", "useful");
    workflow_free(workflow);
    record_close(&record);
}

/* The first phase is expected to take something, or a matrix of which it is a member. */
static void what_is_expected_is_answered_beside_what_it_took(void **state)
{
    (void)state;
    static const struct attempt attempts[] = {{OUTCOME_PREEMPTED, 0, 100, 100},
                                              {OUTCOME_SUCCEEDED, 100, 200, 200}};
    for (unsigned is_member = 0; is_member < 2; is_member++) {
        struct record record;
        struct error err;
        json_t *list;
        record_open(&record);
        struct workflow *workflow = record_workflow(1);
        struct store_submission submission = record_submission();
        json_t *expect = json_pack("{s:[f, f]}", "hours", 0.5, 1.0);
        json_t *phases = json_object_get(submission.resolved, "phases");
        (void)json_object_set(json_array_get(phases, is_member), "expect", expect);
        (void)json_object_set_new((json_t *)submission.resolved, "expect",
                                  json_pack("{s:[i, i]}", "gpu_hours", 32, 64));
        if (is_member) {
            workflow->phases[0].matrix = &workflow->phases[1];
            workflow->phases[1].is_matrix = true;
        }
        record_begin(&record);
        assert_int_equal(store_workflow_insert(record.store, workflow, &submission, &err), 0);
        record_commit(&record);
        for (unsigned i = 0; i < 2; i++)
            add_attempt(&record, &workflow->phases[0], i, &attempts[i]);
        assert_int_equal(answer_expected(record.store, 1, &list, &err), 0);
        json_t *expected =
            json_pack("[{s:s, s:O, s:f, s:f, s:f}, {s:n, s:{s:[i, i]}, s:f, s:f, s:f}]", "phase",
                      is_member ? "train" : "validate", "expect", expect, "hours", 2.0, "gpu_hours",
                      32.0, "usd", 80.0, "phase", "expect", "gpu_hours", 32, 64, "hours", 2.0,
                      "gpu_hours", 32.0, "usd", 80.0);
        char *text = json_dumps(list, JSON_COMPACT), *wanted = json_dumps(expected, JSON_COMPACT);
        assert_string_equal(text, wanted);
        free(text);
        free(wanted);
        json_decref(list);
        json_decref(expected);
        json_decref(expect);
        record_submission_fini(&submission);
        workflow_free(workflow);
        record_close(&record);
    }
}

/* One phase goes on for 100 s on 8 GPUs, another has ended. */
static void without_a_price_gpu_hours_are_foretold(void **state)
{
    (void)state;
    json_t *workflow = json_object();
    json_t *phases =
        json_pack("[{s:f, s:n, s:i, s:f, s:n}, {s:n, s:n, s:i, s:f, s:n}]", "eta_s", 100.0,
                  "usd_per_hour", "gpus_paid", 8, "gpu_seconds", 10.0, "cost_usd", "eta_s",
                  "usd_per_hour", "gpus_paid", 4, "gpu_seconds", 60.0, "cost_usd");
    json_t *first = json_array_get(phases, 0);
    projection_add(first);
    projection_add(json_array_get(phases, 1));
    projection_sum(phases, workflow);
    assert_true(json_is_null(json_object_get(workflow, "projected_cost_usd")));
    assert_float_equal(json_number_value(json_object_get(first, "projected_gpu_seconds")), 810, 0);
    assert_float_equal(json_number_value(json_object_get(workflow, "projected_gpu_seconds")), 870,
                       0);
    assert_null(json_object_get(first, "gpus_paid"));
    json_decref(phases);
    json_decref(workflow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_useful_when_they_were_gone_on_from),
        cmocka_unit_test(what_a_member_has_shown_is_useful),
        cmocka_unit_test(without_a_price_gpu_hours_are_foretold),
        cmocka_unit_test(what_is_expected_is_answered_beside_what_it_took),
    };
    return cmocka_run_group_tests_name("record costs", tests, NULL, NULL);
}
