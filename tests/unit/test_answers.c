/* The answers of the API, in the shapes of doc/api.md. */
#include "tests/unit/answer_scene.h"

#include "daemon/store/answers.h"

#include <errno.h>

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
    struct workflow *workflow = answer_scene(&record);
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

static void the_message_names_what_does_not_exist(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    json_t *json;
    uint64_t run;
    record_open(&record);
    struct workflow *workflow = answer_scene(&record);
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
    struct workflow *workflow = answer_scene(&record);
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
    struct workflow *workflow = answer_scene(&record);
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

static void a_request_for_events_continues_after_the_last_one(void **state)
{
    (void)state;
    struct record record;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = answer_scene(&record), *other = record_workflow(8);
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
    struct workflow *workflow = answer_scene(&record);
    struct core_effect history = {
        .kind = FX_HISTORY, workflow, &workflow->phases[0], .message = "cut in the middle: \xc3"};
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
        cmocka_unit_test(the_message_names_what_does_not_exist),
        cmocka_unit_test(the_record_and_the_core_agree_on_the_state_of_a_workflow),
        cmocka_unit_test(series_share_one_list_of_steps),
        cmocka_unit_test(a_long_series_is_read_in_parts),
        cmocka_unit_test(a_request_for_events_continues_after_the_last_one),
        cmocka_unit_test(a_text_that_is_not_utf8_is_still_answered),
    };
    return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
