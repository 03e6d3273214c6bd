/* What a person can do about a matrix: cancel it, judge it again, run failed members again,
 * choose. */
#include "tests/unit/unit.h"

#include "tests/unit/matrix_world.h"

#include <errno.h>

static void a_matrix_is_cancelled_with_its_members(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 1);
    matrix_runs(world, "ladder.1");
    (void)world_trace(world);
    world_command(world, "ladder", COMMAND_CANCEL);
    assert_string_equal(world_trace(world),
                        "ladder.1#1: running -> stopping\ntell-stop ladder.1#1\n"
                        "ladder.2: blocked -> cancelled\n"
                        "ladder.3: blocked -> cancelled\n"
                        "ladder: blocked -> cancelled\n"
                        "train: blocked -> skipped\n");
    world_ended(world, "ladder.1", OUTCOME_CANCELLED, CAUSE_NONE, 5);
    assert_int_equal(workflow_state(world->workflow), WORKFLOW_CANCELLED);
}

static void a_retried_matrix_runs_what_failed_and_waits_again(void **state)
{
    struct world *world = *state;
    world_phase(world, "ladder")->fail_finally = true;
    matrix_begins(world, 0, 1);
    matrix_fails(world, "ladder.1", CAUSE_OOM);
    matrix_fails(world, "ladder.2", CAUSE_OOM);
    matrix_fails(world, "ladder.3", CAUSE_NAN);
    assert_int_equal(world_phase(world, "train")->state, PHASE_SKIPPED);
    (void)world_trace(world);
    world_command(world, "ladder", COMMAND_RETRY);
    assert_string_equal(world_trace(world), "ladder: failed -> blocked\ntrain: skipped -> blocked\n"
                                            "ladder.1: failed -> queued\nsubmit ladder.1#2\n"
                                            "ladder.2: failed -> queued\nsubmit ladder.2#2\n"
                                            "ladder.3: failed -> queued\nsubmit ladder.3#2\n");
}

/* Two members have results, and one ran out of memory. */
static void waits_for_a_person(struct world *world, enum gate_result gate, enum phase_hold hold)
{
    matrix_begins(world, 0, 1);
    matrix_succeeds(world, "ladder.1");
    matrix_fails(world, "ladder.2", CAUSE_OOM);
    matrix_succeeds(world, "ladder.3");
    matrix_is_judged(world, gate);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_HELD);
    assert_int_equal(world_phase(world, "ladder")->hold, hold);
    (void)world_trace(world);
}

static void a_retry_judges_existing_results_again(void **state)
{
    struct world *world = *state;
    waits_for_a_person(world, GATE_INSUFFICIENT, HOLD_FAILURE);
    assert_int_equal(core_command_check(world_phase(world, "ladder"), COMMAND_PROMOTE, NULL),
                     -EPERM);
    world_command(world, "ladder", COMMAND_RETRY);
    assert_string_equal(world_trace(world), "ladder: held -> blocked\n"
                                            "ladder: blocked -> deciding\njudge ladder\n");
    matrix_chooses(world, false, 1, (const char *const[]){"ladder.3"});
    assert_int_equal(world_phase(world, "train")->state, PHASE_QUEUED);
}

static void a_failed_matrix_with_results_is_judged_again(void **state)
{
    struct world *world = *state;
    world_phase(world, "ladder")->fail_finally = true;
    matrix_begins(world, 0, 1);
    for (size_t i = 0; i < MEMBERS; i++)
        matrix_succeeds(world, world->workflow->phases[i].name);
    matrix_is_judged(world, GATE_FAILED);
    assert_int_equal(world_phase(world, "train")->state, PHASE_SKIPPED);
    (void)world_trace(world);
    world_command(world, "ladder", COMMAND_RETRY);
    assert_string_equal(world_trace(world), "ladder: failed -> blocked\n"
                                            "train: skipped -> blocked\n"
                                            "ladder: blocked -> deciding\njudge ladder\n");
}

static void a_promotion_against_where_decides_without_where(void **state)
{
    struct world *world = *state;
    waits_for_a_person(world, GATE_FAILED, HOLD_GATE);
    world_command(world, "ladder", COMMAND_PROMOTE);
    assert_string_equal(world_trace(world), "ladder: held -> blocked\n"
                                            "ladder: blocked -> deciding\njudge ladder\n");
    assert_true(world_phase(world, "ladder")->is_overridden);
    matrix_is_judged(world, GATE_INSUFFICIENT);
    assert_int_equal(world_phase(world, "ladder")->hold, HOLD_FAILURE);
    assert_false(world_phase(world, "ladder")->is_overridden);
}

static void a_person_may_choose_the_best_member(void **state)
{
    struct world *world = *state;
    waits_for_a_person(world, GATE_INSUFFICIENT, HOLD_FAILURE);
    assert_int_equal(core_command_check(world_phase(world, "ladder.2"), COMMAND_PROMOTE, NULL),
                     -EPERM);
    world_command(world, "ladder.3", COMMAND_PROMOTE);
    assert_string_equal(world_trace(world), "ladder: held -> blocked\n"
                                            "ladder: blocked -> deciding\njudge ladder\n");
    assert_ptr_equal(world_phase(world, "ladder")->members->best, world_phase(world, "ladder.3"));
    matrix_chooses(world, false, 1, (const char *const[]){"ladder.3"});
    assert_int_equal(world_phase(world, "train")->state, PHASE_QUEUED);
    assert_int_equal(core_command_check(world_phase(world, "ladder.1"), COMMAND_PROMOTE, NULL),
                     -EPERM);
}

/* A member that ran out of memory would do so again. */
static void a_retry_runs_the_stopped_members_and_not_the_failed(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 0, 1);
    matrix_fails(world, "ladder.1", CAUSE_OOM);
    matrix_fails(world, "ladder.2", CAUSE_EXIT);
    matrix_succeeds(world, "ladder.3");
    (void)world_trace(world);
    world_command(world, "ladder", COMMAND_RETRY);
    assert_string_equal(world_trace(world), "ladder.2: held -> queued\nsubmit ladder.2#2\n");
}

static void a_resumed_matrix_runs_its_cancelled_members(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 1);
    matrix_succeeds(world, "ladder.1");
    world_command(world, "ladder", COMMAND_CANCEL);
    world_ended(world, "ladder.2", OUTCOME_CANCELLED, CAUSE_NONE, 0);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_CANCELLED);
    (void)world_trace(world);
    world_command(world, "ladder", COMMAND_RETRY);
    assert_string_equal(world_trace(world), "ladder: cancelled -> blocked\n"
                                            "train: skipped -> blocked\n"
                                            "ladder.2: cancelled -> queued\nsubmit ladder.2#2\n"
                                            "ladder.3: cancelled -> blocked\n");
    assert_int_equal(world_phase(world, "ladder.1")->state, PHASE_SUCCEEDED);
}

static void a_held_matrix_whose_results_are_all_known_does_not_decide(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < MEMBERS; i++) {
        world->workflow->phases[i].reused = 77;
        world->workflow->phases[i].reused_from = matrix_copy("5/ladder.9");
    }
    world_begin(world, true);
    assert_string_equal(world_trace(world), "ladder.1: blocked -> succeeded\n"
                                            "ladder.2: blocked -> succeeded\n"
                                            "ladder.3: blocked -> succeeded\n"
                                            "ladder: blocked -> held\n");
    world_command(world, "ladder", COMMAND_RELEASE);
    assert_string_equal(world_trace(world), "ladder: held -> blocked\n"
                                            "ladder: blocked -> deciding\njudge ladder\n");
}

static void the_best_of_a_manual_matrix_waits_for_promote(void **state)
{
    struct world *world = *state;
    world_phase(world, "ladder")->promote_manual = true;
    matrix_begins(world, 0, 1);
    matrix_succeeds(world, "ladder.1");
    matrix_succeeds(world, "ladder.2");
    matrix_succeeds(world, "ladder.3");
    matrix_chooses(world, false, 1, (const char *const[]){"ladder.2"});
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_HELD);
    world_command(world, "ladder", COMMAND_PROMOTE);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_SUCCEEDED);
    assert_int_equal(world_phase(world, "train")->state, PHASE_QUEUED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, matrix_setup, matrix_teardown)
        CLAIM(a_matrix_is_cancelled_with_its_members),
        CLAIM(a_retried_matrix_runs_what_failed_and_waits_again),
        CLAIM(a_retry_judges_existing_results_again),
        CLAIM(a_failed_matrix_with_results_is_judged_again),
        CLAIM(a_promotion_against_where_decides_without_where),
        CLAIM(a_person_may_choose_the_best_member),
        CLAIM(a_retry_runs_the_stopped_members_and_not_the_failed),
        CLAIM(a_resumed_matrix_runs_its_cancelled_members),
        CLAIM(a_held_matrix_whose_results_are_all_known_does_not_decide),
        CLAIM(the_best_of_a_manual_matrix_waits_for_promote),
    };
    return cmocka_run_group_tests_name("core_matrix_command", tests, NULL, NULL);
}
