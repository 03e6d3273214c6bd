/* Lists of workflows: which workflows are in them, in what order, and with how many members. */
#include "tests/unit/record.h"

#include "daemon/store/answers.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
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
    const struct answer_list wanted = {.scope = ANSWER_RECENT, .detail = ANSWER_BRIEF};
    assert_int_equal(answer_workflows(record.store, &wanted, record_now_ms(), record_list_take,
                                      brief, &total, NULL),
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

static void a_run_that_waits_leaves_the_phase_its_metrics(void **state)
{
    (void)state;
    struct record record;
    json_t *json;
    record_open(&record);
    struct workflow *workflow = record_workflow(7);
    record_insert(&record, workflow);
    record_save_run(&record, record_add_run(&record, &workflow->phases[0], 11, 21));
    record_begin(&record);
    assert_int_equal(store_metric_add(record.store, 11, 1, "loss", 2.5, 1790000070000, NULL), 0);
    record_commit(&record);
    record_save_run(&record, record_add_run(&record, &workflow->phases[0], 12, 22));
    assert_int_equal(answer_phase(record.store, 7, "validate", &json, NULL), 0);
    const json_t *metrics = json_object_get(json, "metrics");
    assert_float_equal(json_number_value(json_object_get(metrics, "loss")), 2.5, 0);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "run"), "run")), 12);
    json_decref(json);
    workflow_free(workflow);
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

/* The numbers of the workflows that the list has, and of those that a page of two has after each
 * workflow of the list. */
static char *listed(struct record *record, struct answer_list wanted)
{
    struct text ids = {0};
    int64_t total;
    size_t i;
    json_t *all = json_array(), *workflow;
    do {
        json_array_clear(all);
        assert_int_equal(answer_workflows(record->store, &wanted, record_now_ms(), record_list_take,
                                          all, &total, NULL),
                         0);
        assert_int_equal(total, 8);
        json_array_foreach(all, i, workflow)
        {
            wanted.before = (uint64_t)json_integer_value(json_object_get(workflow, "workflow"));
            text_addf(&ids, " %llu", (unsigned long long)wanted.before);
        }
    } while (wanted.limit && json_array_size(all) > 0);
    json_decref(all);
    return text_steal(&ids);
}

/* Two held, two live and four that ended: one failed, one was cancelled, two ended together. */
static void a_list_goes_on_and_can_be_searched(void **state)
{
    (void)state;
    static const struct {
        struct answer_list wanted;
        const char *ids;
    } rows[] = {
        {{.scope = ANSWER_ALL}, " 6 2 4 3 8 7 5 1"},
        {{.scope = ANSWER_ALL, .limit = 3}, " 6 2 4 3 8 7 5 1"},
        {{.scope = ANSWER_ALL, .limit = 2}, " 6 2 4 3 8 7 5 1"},
        {{.scope = ANSWER_ALL, .limit = 1}, " 6 2 4 3 8 7 5 1"},
        {{.scope = ANSWER_RECENT, .before = 4}, " 3 8 7 5 1"},
        {{.scope = ANSWER_ALL, .state = "held"}, " 6 2"},
        {{.scope = ANSWER_ALL, .state = "running"}, " 2 4 3"},
        {{.scope = ANSWER_ALL, .state = "running", .limit = 1}, " 2 4 3"},
        {{.scope = ANSWER_ALL, .state = "failed"}, " 5"},
        {{.scope = ANSWER_ALL, .state = "cancelled"}, " 1"},
        {{.scope = ANSWER_ALL, .state = "succeeded", .limit = 1}, " 8 7"},
        {{.scope = ANSWER_ALL, .words = "OD"}, " 3 7 5 1"},
        {{.scope = ANSWER_ALL, .words = "odd", .state = "failed"}, " 5"},
        {{.scope = ANSWER_ALL, .words = "8"}, " 8"},
        {{.scope = ANSWER_ALL, .words = "train.url=http://X"}, " 4"},
        {{.scope = ANSWER_ALL, .words = "no such"}, ""},
    };
    struct record record;
    struct store_submission submission = record_submission();
    record_open(&record);
    record_begin(&record);
    for (unsigned i = 1; i <= 8; i++) {
        struct workflow *workflow = record_workflow(i);
        bool is_live = i % 2 == 0 ? i < 8 : i == 3;
        free(workflow->name);
        workflow->name = xstrdup(i % 2 ? "odd" : "even");
        workflow->ended_ms = is_live ? 0 : record_now_ms() - 1000 + (i == 7 ? 8 : i);
        for (size_t phase = 0; phase < workflow->phase_count; phase++)
            workflow->phases[phase].state = is_live ? PHASE_BLOCKED : PHASE_SUCCEEDED;
        workflow->phases[0].state = i == 6 || i == 2 ? PHASE_HELD : workflow->phases[0].state;
        workflow->phases[1].state = i == 2   ? PHASE_ACTIVE
                                    : i == 5 ? PHASE_FAILED
                                    : i == 1 ? PHASE_CANCELLED
                                             : workflow->phases[1].state;
        json_object_set_new((json_t *)submission.set, "train.url",
                            json_string(i == 4 ? "http://x" : "none"));
        assert_int_equal(store_workflow_insert(record.store, workflow, &submission, NULL), 0);
        workflow_free(workflow);
    }
    record_commit(&record);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *ids = listed(&record, rows[i].wanted);
        assert_string_equal(ids, rows[i].ids);
        free(ids);
    }
    struct error err;
    const struct answer_list after_none = {.scope = ANSWER_ALL, .before = 99};
    int64_t total;
    assert_int_equal(answer_workflows(record.store, &after_none, record_now_ms(), record_list_take,
                                      NULL, &total, &err),
                     -ENOENT);
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
        cmocka_unit_test(a_run_that_waits_leaves_the_phase_its_metrics),
        cmocka_unit_test(workflows_with_a_held_phase_come_first),
        cmocka_unit_test(a_list_goes_on_and_can_be_searched),
    };
    return cmocka_run_group_tests_name("answer_lists", tests, NULL, NULL);
}
