/* Matrices in the record: members, the best member, chosen params, and the answers about them. */
#include "tests/unit/record.h"
#include "tests/unit/unit.h"

#include "daemon/store/answers.h"
#include "daemon/store/store_private.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Workflow 7 of record_workflow(), with `validate` as a member of `train`. */
static struct workflow *make_matrix(struct record *record)
{
    struct workflow *workflow = record_workflow(7);
    struct matrix *matrix = phase_add_matrix(&workflow->phases[1]);
    matrix->lanes = 2;
    matrix->is_parallel = true;
    matrix->rung_count = 3;
    matrix_add_member(matrix, &workflow->phases[0]);
    workflow->phases[0].rung = workflow->phases[1].rung = 1;
    record_insert(record, workflow);
    return workflow;
}

static void a_matrix_is_restored_with_its_members_and_its_best(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct workflow *loaded;
    record_open(&record);
    struct workflow *workflow = make_matrix(&record);
    for (int saved = 0; saved < 2; saved++) {
        assert_int_equal(store_load_workflow(record.store, 7, &loaded, &err), 0);
        const struct phase *member = &loaded->phases[0];
        const struct matrix *matrix = loaded->phases[1].members;
        assert_non_null(matrix);
        assert_ptr_equal(member->matrix, matrix);
        assert_int_equal(matrix->count, 1);
        assert_ptr_equal(matrix->members[0], member);
        assert_int_equal(member->rung, 1);
        assert_null(member->members);
        assert_int_equal(matrix->lanes, 2);
        assert_int_equal(matrix->rung_count, 3);
        assert_true(matrix->is_parallel);
        assert_ptr_equal(member->beside, matrix->phase);
        assert_int_equal(phase_parts(member), 2);
        assert_int_equal(loaded->seat_count, saved);
        assert_ptr_equal(matrix->best, saved ? member : NULL);
        workflow_free(loaded);
        workflow->phases[1].members->best = &workflow->phases[0];
        if (saved == 0) {
            (void)record_add_run(&record, &workflow->phases[0], 31, 41);
        }
        const struct core_effect effect = {.kind = FX_SAVE_PHASE, .phase = &workflow->phases[1]};
        record_begin(&record);
        assert_int_equal(store_apply(record.store, &effect, 0, &err), 0);
        record_commit(&record);
    }
    workflow_free(workflow);
    record_close(&record);
}

static void an_answer_has_the_value_of_a_member(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *json;
    } rows[] = {{12.5, "12.5"}, {INFINITY, "\"inf\""}, {-INFINITY, "\"-inf\""}, {NAN, "null"}};
    struct record record;
    struct error err;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = make_matrix(&record);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct store_member member = {.phase = workflow->phases[0].id,
                                            .value = rows[i].value,
                                            .standing = "out",
                                            .reason = "too slow"};
        record_begin(&record);
        assert_int_equal(store_member_set(record.store, &member, &err), 0);
        record_commit(&record);
        assert_int_equal(answer_phase(record.store, 7, "train", &json, &err), 0);
        const json_t *list = json_object_get(json, "members"), *first = json_array_get(list, 0);
        assert_int_equal(json_array_size(list), 1);
        assert_string_equal(json_string_value(json_object_get(first, "matrix")), "train");
        assert_string_equal(json_string_value(json_object_get(first, "standing")), "out");
        assert_string_equal(json_string_value(json_object_get(first, "out_reason")), "too slow");
        char *text = json_dumps(json_object_get(first, "value"), JSON_ENCODE_ANY);
        assert_non_null(text);
        assert_string_equal(text, rows[i].json);
        free(text);
        assert_int_equal(
            json_integer_value(json_object_get(json_object_get(json, "of_members"), "ended")), 0);
        json_decref(json);
    }
    workflow_free(workflow);
    record_close(&record);
}

/* How many workflows a list has that wants those in a state. */
static size_t listed(struct record *record, const char *state)
{
    const struct answer_list wanted = {.scope = ANSWER_ALL, .state = state};
    json_t *list = json_array();
    int64_t total;
    assert_int_equal(answer_workflows(record->store, &wanted, record_now_ms(), record_list_take,
                                      list, &total, NULL),
                     0);
    size_t count = json_array_size(list);
    json_decref(list);
    return count;
}

/* A matrix stands for its members: a member that failed does not make the workflow fail. */
static void members_do_not_change_the_state_of_a_workflow(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    record_open(&record);
    struct workflow *workflow = make_matrix(&record);
    record_begin(&record);
    for (size_t i = 0; i < 2; i++) {
        workflow->phases[i].state = i == 0 ? PHASE_FAILED : PHASE_SUCCEEDED;
        const struct core_effect effect = {.kind = FX_SAVE_PHASE, .phase = &workflow->phases[i]};
        assert_int_equal(store_apply(record.store, &effect, 0, &err), 0);
    }
    workflow->ended_ms = record_now_ms();
    const struct core_effect save = {.kind = FX_SAVE_WORKFLOW, .workflow = workflow};
    assert_int_equal(store_apply(record.store, &save, 0, &err), 0);
    record_commit(&record);
    record_assert(&record, "SELECT state || ' ' || phases FROM v_workflow", "succeeded 1");
    assert_int_equal(workflow_state(workflow), WORKFLOW_SUCCEEDED);
    assert_int_equal(listed(&record, "succeeded"), 1);
    assert_int_equal(listed(&record, "failed"), 0);
    workflow_free(workflow);
    record_close(&record);
}

/* Ends a workflow whose member has failed. Its notice must say this. */
static void expect_notice_of_end(enum phase_state state, const char *expected)
{
    struct record record;
    record_open(&record);
    struct workflow *workflow = make_matrix(&record);
    struct phase *member = &workflow->phases[0], *whole = &workflow->phases[1];
    assert_int_equal(
        sqlite3_exec(record.store->db,
                     "UPDATE workflow SET resolved = "
                     "'{\"notify\": {\"on\": [\"succeeded\", \"failed\"], \"command\": \"true\"}}'",
                     NULL, NULL, NULL),
        SQLITE_OK);
    member->state = PHASE_FAILED;
    whole->state = state;
    (void)snprintf(member->reason, sizeof member->reason, "nan: the loss is not a number");
    (void)snprintf(whole->reason, sizeof whole->reason, "no member is left: 1 failed");
    for (size_t i = 0; i < 2; i++)
        record_apply(&record, &(struct core_effect){.kind = FX_SAVE_PHASE,
                                                    .workflow = workflow,
                                                    .phase = &workflow->phases[i]});
    workflow->ended_ms = record_now_ms();
    record_apply(&record, &(struct core_effect){.kind = FX_SAVE_WORKFLOW, .workflow = workflow});
    record_assert(&record, "SELECT kind || '|' || message FROM notice WHERE NOT own", expected);
    workflow_free(workflow);
    record_close(&record);
}

static void the_notice_of_an_end_names_no_member(void **state)
{
    (void)state;
    expect_notice_of_end(PHASE_SUCCEEDED, "succeeded|");
    expect_notice_of_end(PHASE_FAILED, "failed|train: no member is left: 1 failed");
}

static void chosen_params_and_those_of_remedies_add_up(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    struct store_source source;
    record_open(&record);
    struct workflow *workflow = make_matrix(&record);
    json_t *changes = json_pack("[{s:s, s:i, s:i}]", "param", "steps", "from", 200, "to", 600);
    struct run *run = record_add_run(&record, &workflow->phases[0], 31, 41);
    record_begin(&record);
    assert_int_equal(
        store_choice_add(record.store, workflow->phases[0].id, changes, record_now_ms() - 1, &err),
        0);
    record_commit(&record);
    record_add_remedy(&record, run->id);
    assert_int_equal(store_source_load(record.store, 7, &source, &err), 0);
    assert_int_equal(json_array_size(source.changes), 2);
    char *text = json_dumps(source.changes, JSON_COMPACT);
    assert_non_null(strstr(text, "{\"phase\":\"validate\",\"param\":\"steps\",\"value\":600}"));
    free(text);
    json_decref(changes);
    store_source_fini(&source);
    workflow_free(workflow);
    record_close(&record);
}

/* Returns how many results there are. */
static int find(struct record *record, const char *fingerprint, int64_t since_ms, const char *gpu)
{
    struct store_results results = {0};
    struct error err;
    assert_int_equal(store_result_list(record->store, fingerprint, since_ms, &results, &err), 0);
    int count = (int)results.count;
    if (count > 0) {
        const struct store_result *result = &results.items[0];
        assert_string_equal(result->address, "7/validate");
        assert_string_equal(result->checkpoint_path, "/out/9");
        assert_int_equal(result->checkpoint_step, 9);
        assert_int_equal(result->rung, 1);
        assert_string_equal(result->gpu, gpu);
    }
    store_results_fini(&results);
    return count;
}

static void a_result_is_found_by_its_fingerprint(void **state)
{
    (void)state;
    struct record record;
    struct error err;
    record_open(&record);
    struct workflow *workflow = make_matrix(&record);
    struct phase *member = &workflow->phases[0];
    struct run *run = record_add_run(&record, member, 31, 41);
    assert_int_equal(find(&record, "f00d", 0, ""), 0); /* the run has not ended */
    run->state = RUN_ENDED;
    run->outcome = OUTCOME_SUCCEEDED;
    run->started_ms = 1000;
    run->ended_ms = 2000;
    record_save_run(&record, run);
    member->state = PHASE_SUCCEEDED;
    member->checkpoint_path = strdup("/out/9");
    member->checkpoint_step = 9;
    const struct core_effect effect = {.kind = FX_SAVE_PHASE, .phase = member};
    record_begin(&record);
    assert_int_equal(store_apply(record.store, &effect, 0, &err), 0);
    record_commit(&record);
    assert_int_equal(find(&record, "f00d", 2000, ""), 0); /* the matrix may let the member go on */
    workflow->phases[1].state = PHASE_CANCELLED;
    const struct core_effect end = {.kind = FX_SAVE_PHASE, .phase = &workflow->phases[1]};
    record_begin(&record);
    assert_int_equal(store_apply(record.store, &end, 0, &err), 0);
    record_commit(&record);
    assert_int_equal(find(&record, "f00d", 2000, "h100"), 1); /* the GPU that was asked for */
    assert_int_equal(find(&record, "f00d", 2001, ""), 0);     /* too old */
    assert_int_equal(find(&record, "beef", 0, ""), 0);
    record_begin(&record);
    assert_int_equal(store_run_hardware_set(record.store, run->id, "NVIDIA H200", NULL, &err), 0);
    record_commit(&record);
    assert_int_equal(find(&record, "f00d", 0, "NVIDIA H200"), 1); /* the GPU that the run got */
    record_add_remedy(&record, run->id);                          /* then it has other params */
    assert_int_equal(find(&record, "f00d", 0, ""), 0);
    workflow_free(workflow);
    record_close(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_is_restored_with_its_members_and_its_best),
        cmocka_unit_test(an_answer_has_the_value_of_a_member),
        cmocka_unit_test(members_do_not_change_the_state_of_a_workflow),
        cmocka_unit_test(the_notice_of_an_end_names_no_member),
        cmocka_unit_test(a_result_is_found_by_its_fingerprint),
        cmocka_unit_test(chosen_params_and_those_of_remedies_add_up),
    };
    return cmocka_run_group_tests_name("record_matrix", tests, NULL, NULL);
}
