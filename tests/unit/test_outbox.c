/* The outbox in memory, and the table under it. */
#include "tests/unit/unit.h"

#include "daemon/core/model.h"
#include "daemon/loop/outbox.h"

static void a_map_finds_the_entries_that_were_not_removed(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct map map = {0};
    static int values[COUNT + 1];
    assert_null(map_find(&map, 1));
    assert_null(map_remove(&map, 1));
    for (uint64_t key = 1; key <= COUNT; key++)
        map_put(&map, key * key, &values[key]);
    for (uint64_t key = 1; key <= COUNT; key += 3)
        assert_ptr_equal(map_remove(&map, key * key), &values[key]);
    for (uint64_t key = 1; key <= COUNT; key++)
        assert_ptr_equal(map_find(&map, key * key), key % 3 == 1 ? NULL : (void *)&values[key]);
    assert_int_equal(map.count, COUNT - (COUNT + 2) / 3);
    map_fini(&map);
}

static struct allocation jobs[4] = {{.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}};
static struct run run = {.id = 1};

static void apply(struct outbox *outbox, enum core_effect_kind kind, struct allocation *allocation,
                  int64_t due_ms, bool is_done)
{
    struct core_effect effect = {
        .kind = kind, .allocation = allocation, .due_ms = due_ms, .is_done = is_done};
    outbox_apply(outbox, &effect);
}

static void effects_become_due_in_their_order(void **state)
{
    (void)state;
    struct outbox outbox = {0};
    apply(&outbox, FX_SUBMIT, &jobs[0], 500, false);
    apply(&outbox, FX_SUBMIT, &jobs[1], 0, false);
    apply(&outbox, FX_LOOKUP, &jobs[2], 100, false);
    assert_int_equal(outbox_deadline(&outbox, 10), 100);
    static const uint64_t order[] = {2, 3, 1};
    for (size_t i = 0; i < 3; i++) {
        struct pending *pending = outbox_due(&outbox, OUTBOX_CLUSTER, 1000);
        assert_non_null(pending);
        assert_int_equal(pending_id(pending), order[i]);
        outbox_begin(&outbox, pending, PENDING_STANDING);
    }
    assert_null(outbox_due(&outbox, OUTBOX_CLUSTER, 1000));
    assert_null(outbox_due(&outbox, OUTBOX_OWN, 1000));
    assert_true(outbox_deadline(&outbox, 1000) == INT64_MAX);
    outbox_fini(&outbox);
}

static void submissions_of_one_moment_are_due_in_the_order_of_their_jobs(void **state)
{
    (void)state;
    struct outbox outbox = {0};
    apply(&outbox, FX_SUBMIT, &jobs[2], 500, false);
    apply(&outbox, FX_SUBMIT, &jobs[0], 500, false);
    apply(&outbox, FX_SUBMIT, &jobs[3], 400, false);
    apply(&outbox, FX_SUBMIT, &jobs[1], 500, false);
    static const uint64_t order[] = {4, 1, 2, 3};
    for (size_t i = 0; i < 4; i++) {
        struct pending *pending = outbox_due(&outbox, OUTBOX_CLUSTER, 1000);
        assert_non_null(pending);
        assert_int_equal(pending_id(pending), order[i]);
        outbox_begin(&outbox, pending, PENDING_STANDING);
    }
    outbox_fini(&outbox);
}

/* The cluster takes a job when an answer has made room. All other effects wait for nothing. */
static void an_overdue_effect_has_a_deadline_unless_it_waits_for_room(void **state)
{
    (void)state;
    struct outbox outbox = {0};
    apply(&outbox, FX_SUBMIT, &jobs[0], 500, false);
    assert_true(outbox_deadline(&outbox, 1000) == INT64_MAX);
    struct core_effect effect = {.kind = FX_READ_OUTCOME, .run = &run, .due_ms = 700};
    outbox_apply(&outbox, &effect);
    assert_int_equal(outbox_deadline(&outbox, 1000), 700);
    outbox_fini(&outbox);
}

static void an_effect_is_removed_when_it_is_done_and_not_in_progress(void **state)
{
    (void)state;
    struct outbox outbox = {0};
    apply(&outbox, FX_CANCEL_JOB, &jobs[0], 0, false);
    struct pending *pending = outbox_due(&outbox, OUTBOX_CLUSTER, 0);
    outbox_begin(&outbox, pending, PENDING_UNDER_WAY);
    apply(&outbox, FX_CANCEL_JOB, &jobs[0], 0, true);
    assert_ptr_equal(outbox_find(&outbox, FX_CANCEL_JOB, 1), pending);
    assert_false(outbox_end(&outbox, pending));
    assert_null(outbox_find(&outbox, FX_CANCEL_JOB, 1));

    apply(&outbox, FX_CANCEL_JOB, &jobs[0], 0, false);
    apply(&outbox, FX_CANCEL_JOB, &jobs[0], 0, true);
    assert_null(outbox_due(&outbox, OUTBOX_CLUSTER, 0));
    apply(&outbox, FX_CANCEL_JOB, &jobs[0], 0, true); /* there is no such effect, which is fine */
    outbox_fini(&outbox);
}

static void an_effect_that_is_added_again_while_in_progress_follows(void **state)
{
    (void)state;
    struct outbox outbox = {0};
    apply(&outbox, FX_LOOKUP, &jobs[0], 0, false);
    struct pending *pending = outbox_due(&outbox, OUTBOX_CLUSTER, 0);
    outbox_begin(&outbox, pending, PENDING_UNDER_WAY);
    apply(&outbox, FX_LOOKUP, &jobs[0], 70, false);
    assert_null(outbox_due(&outbox, OUTBOX_CLUSTER, 100));
    assert_true(outbox_end(&outbox, pending));
    assert_null(outbox_due(&outbox, OUTBOX_CLUSTER, 69));
    assert_ptr_equal(outbox_due(&outbox, OUTBOX_CLUSTER, 70), pending);
    outbox_fini(&outbox);
}

static void an_effect_that_is_made_due_is_due_at_once(void **state)
{
    (void)state;
    struct outbox outbox = {0};
    apply(&outbox, FX_SUBMIT, &jobs[0], 500, false);
    apply(&outbox, FX_SUBMIT, &jobs[1], 300000, false);
    outbox_move_up(&outbox, outbox_find(&outbox, FX_SUBMIT, 2));
    assert_ptr_equal(outbox_due(&outbox, OUTBOX_CLUSTER, 1), outbox_find(&outbox, FX_SUBMIT, 2));
    assert_int_equal(outbox_deadline(&outbox, 1), 500);
    outbox_fini(&outbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_finds_the_entries_that_were_not_removed),
        cmocka_unit_test(effects_become_due_in_their_order),
        cmocka_unit_test(submissions_of_one_moment_are_due_in_the_order_of_their_jobs),
        cmocka_unit_test(an_overdue_effect_has_a_deadline_unless_it_waits_for_room),
        cmocka_unit_test(an_effect_is_removed_when_it_is_done_and_not_in_progress),
        cmocka_unit_test(an_effect_that_is_added_again_while_in_progress_follows),
        cmocka_unit_test(an_effect_that_is_made_due_is_due_at_once),
    };
    return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
