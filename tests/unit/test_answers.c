/* The answers of the API, in the shapes of doc/api.md. */
#include "tests/unit/record.h"

#include "daemon/store/answers.h"
#include "lib/expr/check.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SET(array, text) (void)snprintf(array, sizeof(array), "%s", text)

/* Takes `json`. Expected texts are written with ' for ". */
static void assert_json(json_t *json, const char *expected_text)
{
    char *text = strdup(expected_text);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_error_t error;
    json_t *expected = json_loads(text, JSON_DECODE_ANY, &error);
    if (!expected)
        fail_msg("%s: %s", error.text, text);
    if (!json_equal(json, expected))
        fail_msg("%s", json_dumps(json, JSON_INDENT(1)));
    json_decref(expected);
    json_decref(json);
    free(text);
}

/* Workflow 7: validate has failed once and runs again, for 36 s until record_now_ms(). */
static struct workflow *seven(struct record *record)
{
    struct workflow *workflow = record_workflow(7);
    record_insert(record, workflow);
    struct phase *phase = &workflow->phases[0];
    struct run *run = record_add_run(record, phase, 11, 21);
    run->state = RUN_ENDED;
    run->outcome = OUTCOME_PREEMPTED;
    run->seat->allocation->ended = true;
    run->seat->allocation->slurm_id = 4711;
    run->seat->allocation->state = CLUSTER_JOB_PREEMPTED;
    run->submitted_ms = 1790000000000;
    run->started_ms = 1790000010000;
    run->ended_ms = 1790000046000;
    run->last_step = 130;
    record_save_run(record, run);
    run = record_add_run(record, phase, 12, 22);
    run->state = RUN_RUNNING;
    run->has_begun = true;
    run->seat->allocation->slurm_id = 4712;
    run->seat->allocation->state = CLUSTER_JOB_RUNNING;
    SET(run->seat->allocation->nodes, "n[1-2]");
    run->submitted_ms = 1790000050000;
    run->started_ms = 1790000064000;
    run->resume_path = strdup("/out/step_100.ckpt");
    run->resume_step = 100;
    run->last_step = 190;
    phase->state = PHASE_ACTIVE;
    phase->checkpoint_path = strdup("/out/step_100.ckpt");
    phase->checkpoint_step = 100;
    record_save_run(record, run);
    record_begin(record);
    static const struct {
        uint64_t run;
        int64_t step;
        const char *name;
        double value;
    } rows[] = {{11, 129, "loss", 9},   {12, 101, "loss", 5},         {12, 102, "loss", 4.5},
                {12, 102, "dt", NAN},   {12, 103, "loss", -INFINITY}, {12, 104, "dt", 7},
                {12, 100, "dt", 0.125}, {12, 104, "loss", 4.25}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(store_metric_add(record->store, rows[i].run, rows[i].step, rows[i].name,
                                          rows[i].value, 1790000070000 + 250 * (int64_t)i, NULL),
                         0);
    const struct store_pace pace = {.step = 190, .steps = 90, .seconds = 36, .time_ms = 1};
    assert_int_equal(store_pace_put(record->store, 12, "n1", &pace, NULL), 0);
    record_commit(record);
    return workflow;
}

#define RUN_1_MEMBERS                                                                              \
    "'address': '7/validate#1', 'run': 11, 'phase': 'validate', 'attempt': 1, 'state': 'ended',"   \
    " 'wish': null, 'outcome': 'preempted', 'cause': null, 'stop_reason': null, 'refused': "       \
    "false, 'message': '', 'job_id': 4711,"                                                        \
    " 'job_state': 'preempted', 'job_reason': '', 'job_absent_since': null, 'restarts': 0, "       \
    "'nodes': [], 'exit_code': 0, "                                                                \
    "'signal': 0,"                                                                                 \
    " 'submitted': 1790000000.0, 'started': 1790000010.0, 'ended': 1790000046.0,"                  \
    " 'first_step': 0, 'last_step': 130, 'resume': null, 'run_dir': '/home/runs/7/validate/1',"    \
    " 'in_place': false, 'beside': [], 'gpu': null, 'by_gpu': null, 'remedy': null"
#define RUN_1 "{" RUN_1_MEMBERS "}"
#define RUN_2                                                                                      \
    "{'address': '7/validate#2', 'run': 12, 'phase': 'validate', 'attempt': 2,"                    \
    " 'state': 'running', 'wish': null, 'outcome': null, 'cause': null, 'stop_reason': null, "     \
    "'refused': false, 'message': '', 'job_id': "                                                  \
    "4712,"                                                                                        \
    " 'job_state': 'running', 'job_reason': '', 'job_absent_since': null, 'restarts': 0, "         \
    "'nodes': ['n1', 'n2'], "                                                                      \
    "'exit_code': 0,"                                                                              \
    " 'signal': 0, 'submitted': 1790000050.0, 'started': 1790000064.0, 'ended': null,"             \
    " 'first_step': 100, 'last_step': 190, 'resume': '/out/step_100.ckpt',"                        \
    " 'run_dir': '/home/runs/7/validate/2', 'in_place': false, 'beside': [], 'gpu': null,"         \
    " 'by_gpu': null,"                                                                             \
    " 'remedy': null}"
#define NO_MATRIX                                                                                  \
    ", 'suspects': [], 'warning': null, 'matrix': null, 'number': null, 'case': null, 'value': "   \
    "null, 'standing': "                                                                           \
    "null,"                                                                                        \
    " 'out_reason': '', 'rung': 1, 'rungs': 1, 'members': null, 'best': null, 'reused': null"
/* 72 s on 16 GPUs at 2.5 USD an hour; 810 steps to go at 90 in 36 s. */
#define PHASE_VALIDATE                                                                             \
    "'phase': 'validate', 'address': '7/validate', 'state': 'active', 'hold': null, 'reason': "    \
    "'', 'hold_budget': null, 'hold_amount': null, 'after': [],"                                   \
    " 'promote': 'auto', 'run': " RUN_2 ", 'attempts': 2, 'step': 190, 'total': 1000.0,"           \
    " 'metrics': {'loss': 4.25, 'dt': 7.0}, 'eta_s': 324.0, 'gpus': 16, 'nodes': 2,"               \
    " 'usd_per_hour': 40.0, 'projected_cost_usd': 4.4, 'projected_gpu_seconds': 6336.0,"           \
    " 'gpu_seconds': 1152.0, 'cost_usd': 0.8, 'promoted': null,"                                   \
    " 'out': '/home/runs/7/validate/out', 'checkpoint': '/out/step_100.ckpt', 'checkpoint_step': " \
    "100" NO_MATRIX
/* The price is by GPU, and the phase asks for no special type. */
#define PHASE_TRAIN                                                                                \
    "{'phase': 'train', 'address': '7/train', 'state': 'blocked', 'hold': null, 'reason': '',"     \
    " 'hold_budget': null, 'hold_amount': null, 'after': ['validate'], 'promote': 'manual', "      \
    "'run': null, 'attempts': 0, 'step': null,"                                                    \
    " 'total': null, 'metrics': {}, 'eta_s': null, 'gpus': 24, 'nodes': 3, 'gpu_seconds': 0.0,"    \
    " 'usd_per_hour': null, 'projected_cost_usd': null, 'projected_gpu_seconds': null,"            \
    " 'cost_usd': null, 'promoted': null, 'out': '/home/runs/7/train/out', 'checkpoint': "         \
    "null, 'checkpoint_step': null" NO_MATRIX "}"
#define WORKFLOW_7                                                                                 \
    "{'workflow': 7, 'name': 'trm', 'state': 'running', 'submitted': 1790000000.0,"                \
    " 'ended': null, 'file': 'demo.yaml', 'workdir': '/work dir', 'variants': [], 'set': "         \
    "{'validate.iterations': '10'}, 'commit': null, 'branch': null, 'changed': null,"              \
    " 'snapshot': null, 'budget': null, 'projected_cost_usd': 4.4, 'projected_gpu_seconds': "      \
    "6336.0, 'gpu_seconds': 1152.0,"                                                               \
    " 'cost_usd': 0.8, 'phases': [{" PHASE_VALIDATE "}, " PHASE_TRAIN "]}"

static void workflows_phases_and_runs_have_the_documented_shapes(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = seven(&record);
    assert_int_equal(answer_workflow(record.store, 7, ANSWER_FULL, &json, &err), 0);
    assert_json(json, WORKFLOW_7);
    assert_json(record_list(&record, ANSWER_RECENT, 0, 1), "[" WORKFLOW_7 "]");
    assert_int_equal(answer_phase(record.store, 7, "validate", &json, &err), 0);
    assert_json(json, "{" PHASE_VALIDATE ", 'runs': [" RUN_2 "," RUN_1 "]}");
    assert_int_equal(answer_run(record.store, 7, "validate", 1, &json, &err), 0);
    assert_json(
        json, "{" RUN_1_MEMBERS
              ", 'guards': [], 'evidence': [], 'warnings': [], 'preflight': [], 'failure': null}");
    assert_int_equal(answer_runs(record.store, 7, 10, &json, &err), 0);
    assert_json(json, "{'runs': [" RUN_2 "," RUN_1 "]}");
    assert_int_equal(answer_runs(record.store, 0, 1, &json, &err), 0);
    assert_json(json, "{'runs': [" RUN_2 "]}");
    assert_int_equal(answer_runs(record.store, 8, 10, &json, &err), 0);
    assert_json(json, "{'runs': []}");
    workflow_free(workflow);
    record_close(&record);
}

static void an_answer_about_a_run_has_its_recognised_failure(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *json, *failure;
    record_open(&record);
    struct workflow *workflow = seven(&record);
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
    struct workflow *workflow = seven(&record);
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
    struct workflow *workflow = seven(&record);
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

static void the_message_names_what_does_not_exist(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *json;
    uint64_t run;
    record_open(&record);
    struct workflow *workflow = seven(&record);
    assert_int_equal(answer_workflow(record.store, 8, ANSWER_FULL, &json, &err), -ENOENT);
    assert_string_equal(err.message, "no workflow 8");
    assert_int_equal(answer_phase(record.store, 7, "valid", &json, &err), -ENOENT);
    assert_string_equal(err.message, "no phase 7/valid; workflow 7 has validate, train");
    assert_int_equal(answer_gate(record.store, 8, "validate", &json, &err), -ENOENT);
    assert_string_equal(err.message, "no workflow 8");
    assert_int_equal(answer_run(record.store, 7, "validate", 3, &json, &err), -ENOENT);
    assert_string_equal(err.message, "no run 7/validate#3");
    assert_int_equal(answer_run_id(record.store, 7, "train", 1, &run, &err), -ENOENT);
    assert_int_equal(answer_run_id(record.store, 7, "validate", 2, &run, &err), 0);
    assert_int_equal(run, 12);
    workflow_free(workflow);
    record_close(&record);
}

/* The SQL of the view and the C code of the core agree for every pair of states of two phases. */
static void the_record_and_the_core_agree_on_the_state_of_a_workflow(void **state)
{
    (void)state;
    struct record record;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = record_workflow(1);
    record_insert(&record, workflow);
    for (int i = 0; i < PHASE_STATE_COUNT * PHASE_STATE_COUNT; i++) {
        workflow->phases[0].state = (enum phase_state)(i / PHASE_STATE_COUNT);
        workflow->phases[1].state = (enum phase_state)(i % PHASE_STATE_COUNT);
        for (int j = 0; j < 2; j++) {
            struct core_effect save = {
                .kind = FX_SAVE_PHASE, .workflow = workflow, .phase = &workflow->phases[j]};
            record_apply(&record, &save);
        }
        assert_int_equal(answer_workflow(record.store, 1, ANSWER_FULL, &json, NULL), 0);
        assert_string_equal(json_string_value(json_object_get(json, "state")),
                            workflow_state_name(workflow_state(workflow)));
        json_decref(json);
    }
    workflow_free(workflow);
    record_close(&record);
}

/* The earliest time of each step, where two metrics have the step. */
#define TIMES " 'times': [1790000071.5, 1790000070.25, 1790000070.5, 1790000071.0, 1790000071.25],"

static void series_share_one_list_of_steps(void **state)
{
    (void)state;
    static const char *const loss[] = {"loss"}, *const both[] = {"dt", "loss"},
                             *const none[] = {"mfu"};
    static const struct {
        const char *const *names;
        size_t count;
        unsigned last;
        const char *expected;
        unsigned buckets;
        int64_t from, to; /* to 0: all steps */
    } cases[] = {
        {NULL, 0, 0,
         "{'steps': [100, 101, 102, 103, 104]," TIMES
         " 'series': {'loss': [null, 5.0, 4.5, '-inf', 4.25],"
         " 'dt': [0.125, null, 'nan', null, 7.0]}}",
         0, 0, 0},
        {NULL, 0, 2,
         "{'steps': [103, 104], 'times': [1790000071.0, 1790000071.25],"
         " 'series': {'loss': ['-inf', 4.25], 'dt': [null, 7.0]}}",
         0, 0, 0},
        {loss, 1, 3,
         "{'steps': [102, 103, 104], 'times': [1790000070.5, 1790000071.0, 1790000071.75],"
         " 'series': {'loss': [4.5, '-inf', 4.25]}}",
         0, 0, 0},
        {both, 2, 1,
         "{'steps': [104], 'times': [1790000071.25], 'series': {'dt': [7.0], 'loss': [4.25]}}", 0,
         0, 0},
        {both, 2, 99,
         "{'steps': [100, 101, 102, 103, 104]," TIMES
         " 'series': {'loss': [null, 5.0, 4.5, '-inf', 4.25],"
         " 'dt': [0.125, null, 'nan', null, 7.0]}}",
         0, 0, 0},
        {none, 1, 0, "{'steps': [], 'times': [], 'series': {'mfu': []}}", 0, 0, 0},
        {both, 2, 0,
         "{'steps': [100, 101, 102, 103, 104],"
         " 'times': [1790000071.5, 1790000070.25, 1790000070.75, 1790000071.0, 1790000071.25],"
         " 'series': {'loss': [null, 5.0, null, '-inf', 4.25],"
         " 'dt': [0.125, null, 'nan', null, 7.0]}}",
         1, 0, 0},
        {loss, 1, 0,
         "{'steps': [101, 102, 103, 104],"
         " 'times': [1790000070.25, 1790000070.5, 1790000071.0, 1790000071.75],"
         " 'series': {'loss': [5.0, 4.5, '-inf', 4.25]}}",
         2, 0, 0},
        {none, 1, 0, "{'steps': [], 'times': [], 'series': {'mfu': []}}", 5, 0, 0},
        {loss, 1, 0,
         "{'steps': [102, 103], 'times': [1790000070.5, 1790000071.0],"
         " 'series': {'loss': [4.5, '-inf']}}",
         5, 102, 103},
        {loss, 1, 1, "{'steps': [102], 'times': [1790000070.5], 'series': {'loss': [4.5]}}", 0, 100,
         102},
    };
    struct record record;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = seven(&record);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer_range range = {cases[i].last, cases[i].buckets, cases[i].from,
                                     cases[i].to ? cases[i].to : INT64_MAX, 1000};
        assert_int_equal(
            answer_metrics(record.store, 12, cases[i].names, cases[i].count, &range, &json, NULL),
            0);
        assert_json(json, cases[i].expected);
    }
    workflow_free(workflow);
    record_close(&record);
}

static void a_long_series_is_read_in_parts(void **state)
{
    (void)state;
    static const char *const loss[] = {"loss"};
    struct answer_range range = {.buckets = 9, .to = INT64_MAX, .rows = 1};
    struct record record;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = seven(&record);
    assert_int_equal(answer_metrics(record.store, 12, loss, 1, &range, &json, NULL), 0);
    assert_json(json, "{'steps': [101, 102], 'times': [1790000070.25, 1790000070.5],"
                      " 'series': {'loss': [5.0, 4.5]}, 'next': 103}");
    range.from = 103;
    assert_int_equal(answer_metrics(record.store, 12, loss, 1, &range, &json, NULL), 0);
    assert_json(json, "{'steps': [103, 104], 'times': [1790000071.0, 1790000071.75],"
                      " 'series': {'loss': ['-inf', 4.25]}}");
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
    struct workflow *workflow = seven(&record);
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
    struct workflow *workflow = seven(&record);
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

static void a_request_for_events_continues_after_the_last_one(void **state)
{
    (void)state;
    struct record record;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = seven(&record), *other = record_workflow(8);
    record_insert(&record, other);
    struct phase *phase = &workflow->phases[0];
    struct core_effect effects[] = {
        {.kind = FX_HISTORY, workflow, phase, .from = "queued", .to = "active"},
        {.kind = FX_HISTORY, other, &other->phases[0], .from = "queued", .to = "active"},
        {.kind = FX_HISTORY, workflow, phase, phase->run, .to = "ended", .message = "why"},
    };
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        record_apply(&record, &effects[i]);
    assert_int_equal(answer_events(record.store, 0, 7, 10, &json, NULL), 0);
    assert_json(json, "{'events': [{'event': 1, 'time': 1790000100.0, 'workflow': 7,"
                      " 'phase': 'validate', 'run': null, 'type': 'phase', 'from': 'queued',"
                      " 'to': 'active', 'result': null, 'step': null, 'message': ''},"
                      " {'event': 3, 'time': 1790000100.0,"
                      " 'workflow': 7, 'phase': 'validate', 'run': 12, 'type': 'run',"
                      " 'from': null, 'to': 'ended', 'result': null, 'step': null,"
                      " 'message': 'why'}], 'last': 3}");
    static const struct {
        uint64_t after, workflow;
        unsigned limit;
        size_t count;
        json_int_t last;
    } cases[] = {
        {0, 0, 10, 3, 3}, {0, 0, 2, 2, 2}, {1, 7, 10, 1, 3}, {3, 0, 10, 0, 3}, {2, 8, 10, 0, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(answer_events(record.store, cases[i].after, cases[i].workflow,
                                       cases[i].limit, &json, NULL),
                         0);
        assert_int_equal(json_array_size(json_object_get(json, "events")), cases[i].count);
        assert_int_equal(json_integer_value(json_object_get(json, "last")), cases[i].last);
        json_decref(json);
    }
    workflow_free(workflow);
    workflow_free(other);
    record_close(&record);
}

static void a_text_that_is_not_utf8_is_still_answered(void **state)
{
    (void)state;
    struct record record;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = seven(&record);
    struct core_effect history = {.kind = FX_HISTORY, workflow, &workflow->phases[0]};
    SET(history.message, "cut in the middle: \xc3");
    record_apply(&record, &history);
    assert_int_equal(answer_events(record.store, 0, 7, 1, &json, NULL), 0);
    const json_t *event = json_array_get(json_object_get(json, "events"), 0);
    assert_string_equal(json_string_value(json_object_get(event, "message")),
                        "cut in the middle: ?");
    json_decref(json);
    workflow_free(workflow);
    record_close(&record);
}

int main(void)
{
    record_stop_the_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workflows_phases_and_runs_have_the_documented_shapes),
        cmocka_unit_test(an_answer_about_a_run_has_its_recognised_failure),
        cmocka_unit_test(a_run_is_beside_those_of_its_job_that_ran_at_the_same_time),
        cmocka_unit_test(an_absent_job_has_no_forecast_and_stops_counting),
        cmocka_unit_test(the_message_names_what_does_not_exist),
        cmocka_unit_test(the_record_and_the_core_agree_on_the_state_of_a_workflow),
        cmocka_unit_test(series_share_one_list_of_steps),
        cmocka_unit_test(a_long_series_is_read_in_parts),
        cmocka_unit_test(a_gate_says_who_decided_and_why),
        cmocka_unit_test(a_gate_names_the_guard_that_stopped_the_newest_run),
        cmocka_unit_test(a_request_for_events_continues_after_the_last_one),
        cmocka_unit_test(a_text_that_is_not_utf8_is_still_answered),
    };
    return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
