/* The answers about one run and its gate: failures, jobs, verdicts, guards. */
#include "tests/unit/answer_scene.h"

#include "daemon/store/answers.h"
#include "lib/expr/check.h"

#include <errno.h>
#include <math.h>

static void an_answer_about_a_run_has_its_recognised_failure(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *json, *failure;
    record_open(&record);
    struct workflow *workflow = answer_scene(&record);
    failure = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s}", "name", "cuda_oom", "line", "OOM", "rank",
                        0, "node", "n2", "advice", "less", "blame", "code");
    assert_int_equal(store_begin(record.store, &err), 0);
    assert_int_equal(store_failure_put(record.store, 11, failure, "oom", &err), 0);
    json_object_set_new(failure, "rank", json_null()); /* the failure is reported again */
    assert_int_equal(store_failure_put(record.store, 11, failure, "oom", &err), 0);
    json_object_set_new(failure, "blame", json_string("weather"));
    assert_int_equal(store_failure_put(record.store, 11, failure, "oom", &err), -EINVAL);
    assert_int_equal(store_commit(record.store, &err), 0);
    assert_int_equal(answer_run(record.store, 7, "validate", 1, &json, &err), 0);
    assert_json(json_incref(json_object_get(json, "failure")),
                "{'name': 'cuda_oom', 'line': 'OOM', 'rank': null, 'node': 'n2', 'advice': 'less',"
                " 'blame': 'code'}");
    json_decref(json);
    json_decref(failure);
    workflow_free(workflow);
    record_close(&record);
}

/* The run has lasted 36 s, and Slurm has known its job for 6 s of them. */
static void an_absent_job_has_no_forecast_and_stops_counting(void **state)
{
    (void)state;
    struct record record;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = answer_scene(&record);
    struct run *run = workflow->phases[0].run;
    run->seat->allocation->absent_since_ms = run->started_ms + 6000;
    record_save_run(&record, run);
    assert_int_equal(answer_phase(record.store, 7, "validate", &json, NULL), 0);
    assert_true(json_is_null(json_object_get(json, "eta_s")));
    assert_float_equal(json_number_value(json_object_get(json, "gpu_seconds")), 16 * (36 + 6), 0);
    const json_t *newest = json_object_get(json, "run");
    assert_float_equal(json_number_value(json_object_get(newest, "job_absent_since")), 1790000070,
                       0);
    json_decref(json);

    /* The run becomes lost. That took a while, in which Slurm did not know the job. */
    run->state = RUN_ENDED;
    run->outcome = OUTCOME_LOST;
    run->ended_ms = run->started_ms + 20000;
    record_save_run(&record, run);
    assert_int_equal(answer_phase(record.store, 7, "validate", &json, NULL), 0);
    assert_float_equal(json_number_value(json_object_get(json, "gpu_seconds")), 16 * (36 + 6), 0);
    newest = json_object_get(json, "run");
    assert_true(json_is_null(json_object_get(newest, "job_absent_since")));
    json_decref(json);
    workflow_free(workflow);
    record_close(&record);
}

static void assert_beside(const struct record *record, const char *phase, unsigned attempt,
                          json_t *expected)
{
    json_t *json;
    assert_int_equal(answer_run(record->store, 7, phase, attempt, &json, NULL), 0);
    assert_true(json_equal(json_object_get(json, "beside"), expected));
    json_decref(json);
    json_decref(expected);
}

/* A run that follows in the same job is not beside the run before. */
static void a_run_is_beside_those_of_its_job_that_ran_at_the_same_time(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    struct workflow *workflow = answer_scene(&record);
    struct run *first = workflow->phases[0].run;
    struct run *second = record_add_run(&record, &workflow->phases[1], 13, 23);
    second->seat = first->seat;
    second->state = RUN_RUNNING;
    second->started_ms = first->started_ms + 10;
    record_save_run(&record, second);
    assert_beside(&record, "validate", 2, json_pack("[s]", "train"));
    assert_beside(&record, "train", 1, json_pack("[s]", "validate"));
    first->state = RUN_ENDED;
    first->ended_ms = first->started_ms + 11;
    record_save_run(&record, first);
    assert_beside(&record, "validate", 2, json_pack("[s]", "train"));
    assert_beside(&record, "train", 1, json_array());
    first->ended_ms = first->started_ms + 10;
    record_save_run(&record, first);
    assert_beside(&record, "validate", 2, json_array());
    /* A run that ended before it began was beside the runs that went on. */
    first->started_ms = 0;
    second->state = RUN_ENDED;
    second->ended_ms = first->ended_ms + 1;
    second->started_ms = first->ended_ms - 1;
    record_save_run(&record, first);
    record_save_run(&record, second);
    assert_beside(&record, "validate", 2, json_pack("[s]", "train"));
    workflow_free(workflow);
    record_close(&record);
}

static void judge(struct record *record, uint64_t run, enum check_outcome outcome, bool warn)
{
    struct verdict verdict = {.name = (char *)"falling",
                              .outcome = outcome,
                              .warn = warn,
                              .has_value = true,
                              .value = NAN,
                              .bounds = (char *)"below 0",
                              .reason = (char *)"it is NaN"};
    json_t *list = json_pack("[o]", verdict_to_json(&verdict));
    record_begin(record);
    assert_int_equal(store_verdicts_set(record->store, run, list, 1790000090000, NULL), 0);
    record_commit(record);
    json_decref(list);
}

static void guard(struct record *record, uint64_t run)
{
    struct verdict verdict = {.name = (char *)"cap",
                              .outcome = CHECK_FAILED,
                              .bounds = (char *)"below 3",
                              .reason = (char *)"cap 4 is not below 3",
                              .advice = (char *)"lower the rate"};
    json_t *json = verdict_to_json(&verdict);
    record_begin(record);
    assert_int_equal(store_guard_add(record->store, run, json, 1790000090000, NULL), 0);
    record_commit(record);
    json_decref(json);
}

static void assert_gate(struct record *record, const char *expected)
{
    json_t *json;
    assert_int_equal(answer_gate(record->store, 7, "validate", &json, NULL), 0);
    assert_json(json, expected);
}

#define CHECKS(outcome, warn)                                                                      \
    " 'checks': [{'name': 'falling', 'outcome': '" outcome "', 'warn': " warn ", 'value': 'nan',"  \
    " 'bounds': 'below 0', 'window': null, 'reason': 'it is NaN', 'advice': null}], 'guards': []}"

static void a_gate_says_who_decided_and_why(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    struct workflow *workflow = answer_scene(&record);
    struct phase *phase = &workflow->phases[0];
    assert_gate(&record, "{'phase': '7/validate', 'run': null, 'decided': null, 'decided_by': null,"
                         " 'time': null, 'criteria': null, 'checks': [], 'guards': []}");
    judge(&record, 12, CHECK_FAILED, true);
    assert_gate(
        &record,
        "{'phase': '7/validate', 'run': '7/validate#2', 'decided': 'passed', 'decided_by': 'gate',"
        " 'time': 1790000090.0, 'criteria': null," CHECKS("failed", "true"));
    judge(&record, 12, CHECK_INSUFFICIENT, false);
    assert_gate(
        &record,
        "{'phase': '7/validate', 'run': '7/validate#2', 'decided': 'failed', 'decided_by': 'gate',"
        " 'time': 1790000090.0, 'criteria': null," CHECKS("insufficient", "false"));
    phase->state = PHASE_SUCCEEDED;
    phase->is_overridden = true;
    struct core_effect effects[] = {
        {.kind = FX_SAVE_PHASE, .workflow = workflow, .phase = phase},
        {.kind = FX_HISTORY, workflow, phase, .from = "held", .to = "succeeded"},
        {.kind = FX_PROMOTION, workflow, phase, phase->run, .message = "anna"},
    };
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        record_apply(&record, &effects[i]);
    assert_gate(
        &record,
        "{'phase': '7/validate', 'run': '7/validate#2', 'decided': 'passed', 'decided_by': 'user',"
        " 'time': 1790000100.0, 'criteria': null," CHECKS("insufficient", "false"));
    json_t *json;
    assert_int_equal(answer_phase(record.store, 7, "validate", &json, NULL), 0);
    assert_string_equal(json_string_value(json_object_get(json, "promoted")), "submitted");
    json_decref(json);
    workflow_free(workflow);
    record_close(&record);
}

static void a_gate_names_the_guard_that_stopped_the_newest_run(void **state)
{
    (void)state;
    struct record record;
    record_open(&record);
    struct workflow *workflow = answer_scene(&record);
    guard(&record, 11); /* not the newest */
    assert_gate(&record, "{'phase': '7/validate', 'run': null, 'decided': null, 'decided_by': null,"
                         " 'time': null, 'criteria': null, 'checks': [], 'guards': []}");
    guard(&record, 12);
    assert_gate(
        &record,
        "{'phase': '7/validate', 'run': null, 'decided': null, 'decided_by': null,"
        " 'time': null, 'criteria': null, 'checks': [], 'guards': [{'name': 'cap', 'outcome':"
        " 'failed', 'warn': false, 'value': null, 'bounds': 'below 3',"
        " 'window': null, 'reason': 'cap 4 is not below 3',"
        " 'advice': 'lower the rate'}]}");
    workflow_free(workflow);
    record_close(&record);
}

int main(void)
{
    record_stop_the_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_about_a_run_has_its_recognised_failure),
        cmocka_unit_test(a_run_is_beside_those_of_its_job_that_ran_at_the_same_time),
        cmocka_unit_test(an_absent_job_has_no_forecast_and_stops_counting),
        cmocka_unit_test(a_gate_says_who_decided_and_why),
        cmocka_unit_test(a_gate_names_the_guard_that_stopped_the_newest_run),
    };
    return cmocka_run_group_tests_name("answers about runs", tests, NULL, NULL);
}
