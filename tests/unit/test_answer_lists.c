/* Lists of workflows: which workflows are in them, in what order, and with how many members. */
#include "tests/unit/record.h"

#include "daemon/store/answers.h"
#include "lib/text.h"

#include <stdlib.h>

static void a_full_list_has_workflows_that_ended_a_day_ago(void **state)
{
    (void)state;
    static const int64_t day_ms = 24 * 3600 * 1000;
    struct record record;
    record_open(&record);
    for (unsigned i = 1; i <= 3; i++) {
        struct workflow *workflow = record_workflow(i);
        record_insert(&record, workflow);
        workflow->ended_ms = i == 1 ? 0 : i == 2 ? record_now_ms() - day_ms - 1 : record_now_ms();
        struct core_effect save = {.kind = FX_SAVE_WORKFLOW, .workflow = workflow};
        record_apply(&record, &save);
        workflow_free(workflow);
    }
    for (int scope = ANSWER_RECENT; scope <= ANSWER_ALL; scope++) {
        struct text ids = {0};
        json_t *workflow;
        size_t i;
        json_t *all =
            record_list(&record, (enum answer_scope)scope, 0, scope == ANSWER_ALL ? 3 : 2);
        json_array_foreach(all, i, workflow)
            text_addf(&ids, " %lld", json_integer_value(json_object_get(workflow, "workflow")));
        assert_string_equal(text_string(&ids), scope == ANSWER_ALL ? " 1 3 2" : " 1 3");
        json_decref(all);
        text_fini(&ids);
    }
    record_close(&record);
}

static void a_brief_list_leaves_out_metrics_and_null_members(void **state)
{
    (void)state;
    struct record record;
    int64_t total;
    json_t *brief = json_array();
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    record_insert(&record, workflow);
    struct run *run = record_add_run(&record, &workflow->phases[0], 11, 21);
    record_save_run(&record, run);
    json_t *full = record_list(&record, ANSWER_RECENT, 0, 1);
    assert_int_equal(answer_workflows(record.store, ANSWER_RECENT, ANSWER_BRIEF, 0, record_now_ms(),
                                      record_list_take, brief, &total, NULL),
                     0);
    const json_t *phases[] = {json_object_get(json_array_get(full, 0), "phases"),
                              json_object_get(json_array_get(brief, 0), "phases")};
    const json_t *whole = json_array_get(phases[0], 0), *part = json_array_get(phases[1], 0);
    assert_true(json_is_null(json_object_get(whole, "hold")));
    assert_null(json_object_get(part, "hold"));
    assert_non_null(json_object_get(whole, "metrics"));
    assert_null(json_object_get(part, "metrics"));
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)part, name, value)
    {
        if (!json_is_object(value)) /* the run is brief, too */
            assert_true(json_equal(value, json_object_get(whole, name)));
    }
    assert_true(json_is_object(json_object_get(part, "run")));
    json_decref(brief);
    json_decref(full);
    workflow_free(workflow);
    record_close(&record);
}

/* An answer stays small however many workflows ended, and it always has the live ones. */
static void a_list_shows_only_the_last_workflows_that_are_over(void **state)
{
    (void)state;
    enum { COUNT = 1100, LIVE = 3 };
    static const size_t expected[] = {[ANSWER_RECENT] = 100 + 1, [ANSWER_ALL] = 1000 + 1};
    struct record record;
    struct store_submission submission = record_submission();
    record_open(&record);
    record_begin(&record);
    for (unsigned i = 1; i <= COUNT; i++) {
        struct workflow *workflow = record_workflow(i);
        workflow->ended_ms = i == LIVE ? 0 : record_now_ms() + i;
        assert_int_equal(store_workflow_insert(record.store, workflow, &submission, NULL), 0);
        workflow_free(workflow);
    }
    record_commit(&record);
    for (int scope = ANSWER_RECENT; scope <= ANSWER_ALL; scope++) {
        json_t *all = record_list(&record, (enum answer_scope)scope, 0, COUNT);
        assert_int_equal(json_array_size(all), expected[scope]);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(all, 0), "workflow")),
                         LIVE);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(all, 1), "workflow")),
                         COUNT);
        json_decref(all);
    }
    record_submission_fini(&submission);
    record_close(&record);
}

/* However many workflows there are, those that a person must see come first. */
static void workflows_with_a_held_phase_come_first(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    static const struct {
        unsigned limit;
        const char *ids;
    } rows[] = {
        {0, " 9 6 3 12 11 10 8 7 5 4 2 1"},
        {20, " 9 6 3 12 11 10 8 7 5 4 2 1"},
        {5, " 9 6 3 12 11"},
        {3, " 9 6 3"},
        {2, " 9 6"},
    };
    struct record record;
    struct store_submission submission = record_submission();
    record_open(&record);
    record_begin(&record);
    for (unsigned i = 1; i <= COUNT; i++) {
        struct workflow *workflow = record_workflow(i);
        workflow->ended_ms = i < 3 ? record_now_ms() + i : 0;
        for (size_t phase = 0; i % 3 == 0 && i < COUNT && phase < workflow->phase_count; phase++)
            workflow->phases[phase].state = PHASE_HELD; /* both are: it is listed once */
        assert_int_equal(store_workflow_insert(record.store, workflow, &submission, NULL), 0);
        workflow_free(workflow);
    }
    record_commit(&record);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text ids = {0};
        json_t *workflow, *all = record_list(&record, ANSWER_RECENT, rows[i].limit, COUNT);
        size_t at;
        json_array_foreach(all, at, workflow)
            text_addf(&ids, " %lld", json_integer_value(json_object_get(workflow, "workflow")));
        assert_string_equal(text_string(&ids), rows[i].ids);
        json_decref(all);
        text_fini(&ids);
    }
    record_submission_fini(&submission);
    record_close(&record);
}

int main(void)
{
    record_stop_the_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_list_has_workflows_that_ended_a_day_ago),
        cmocka_unit_test(a_brief_list_leaves_out_metrics_and_null_members),
        cmocka_unit_test(a_list_shows_only_the_last_workflows_that_are_over),
        cmocka_unit_test(workflows_with_a_held_phase_come_first),
    };
    return cmocka_run_group_tests_name("answer_lists", tests, NULL, NULL);
}
