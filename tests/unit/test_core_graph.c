/* The graph of a workflow after failures: which phases are skipped, wait again or stay held when a
 * person runs a phase before them again. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include <stdlib.h>
#include <string.h>

/* Puts `score` between `validate` and `production`. `production` waits for both. */
static void add_score(struct world *world)
{
    struct workflow *workflow = world->workflow;
    workflow->phases = realloc(workflow->phases, 3 * sizeof *workflow->phases);
    assert_non_null(workflow->phases);
    struct phase *score = &workflow->phases[1], *production = &workflow->phases[2];
    *production = *score;
    *score = workflow->phases[0];
    score->name = strdup("score");
    score->gpu_type = strdup("h100");
    score->slurm_options = strdup("{}");
    score->index = 1;
    production->index = 2;
    workflow->phase_count = 3;
    free(production->after);
    production->after = calloc(2, sizeof *production->after);
    assert_non_null(production->after);
    production->after[1] = 1;
    production->after_count = 2;
    for (size_t i = 0; i < 3; i++)
        workflow->phases[i].fail_finally = true;
}

static void fails(struct world *world, const char *phase)
{
    world_runs(world, phase);
    world_ended(world, phase, OUTCOME_FAILED, CAUSE_EXIT, 10);
    (void)world_trace(world);
}

static void succeeds(struct world *world, const char *phase)
{
    world_runs(world, phase);
    world_ended(world, phase, OUTCOME_SUCCEEDED, CAUSE_NONE, 100);
    world_judged(world, phase, GATE_PASSED);
}

static enum phase_state state_of(struct world *world, const char *phase)
{
    return world_phase(world, phase)->state;
}

static void a_phase_stays_skipped_until_no_phase_before_it_is_lost(void **state)
{
    struct world *world = *state;
    add_score(world);
    world_begin(world, false);
    fails(world, "validate");
    fails(world, "score");
    assert_string_equal(world_phase(world, "production")->reason, "validate failed");

    world_command(world, "validate", COMMAND_RETRY);
    assert_int_equal(state_of(world, "production"), PHASE_SKIPPED);
    assert_string_equal(world_phase(world, "production")->reason, "score failed");
    succeeds(world, "validate");
    assert_int_equal(workflow_state(world->workflow), WORKFLOW_FAILED);
    assert_true(world->workflow->ended_ms != 0);

    world_command(world, "score", COMMAND_RETRY);
    assert_int_equal(state_of(world, "production"), PHASE_BLOCKED);
    assert_int_equal(world->workflow->ended_ms, 0);
    succeeds(world, "score");
    assert_int_equal(state_of(world, "production"), PHASE_QUEUED);
}

static void a_retry_behind_a_cancelled_phase_waits_for_the_retry_of_that_phase(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_command(world, "production", COMMAND_CANCEL);
    world_command(world, "validate", COMMAND_CANCEL);
    world_event(world, EV_SUBMITTED, "validate");
    world_seen(world, "validate", "cancelled", true);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(state_of(world, "validate"), PHASE_CANCELLED);
    assert_int_equal(state_of(world, "production"), PHASE_CANCELLED);

    world_command(world, "production", COMMAND_RETRY);
    assert_int_equal(state_of(world, "production"), PHASE_SKIPPED);
    assert_string_equal(world_phase(world, "production")->reason, "validate cancelled");
    assert_true(world->workflow->ended_ms != 0);

    world_command(world, "validate", COMMAND_RETRY);
    assert_int_equal(state_of(world, "production"), PHASE_BLOCKED);
}

/* `ladder` is a matrix with one member, and both wait for `validate`. */
static void a_retry_of_a_matrix_behind_a_lost_phase_leaves_nothing_that_waits(void **state)
{
    struct world *world = *state;
    add_score(world);
    struct workflow *workflow = world->workflow;
    struct phase *member = world_phase(world, "score"), *ladder = world_phase(world, "production");
    member->after = calloc(1, sizeof *member->after);
    assert_non_null(member->after);
    member->after_count = ladder->after_count = 1;
    matrix_add_member(phase_add_matrix(ladder), member);
    ladder->members->lanes = ladder->members->rung_count = 1;
    world_begin(world, false);
    world_command(world, "score", COMMAND_CANCEL);
    assert_int_equal(ladder->state, PHASE_CANCELLED);
    fails(world, "validate");

    world_command(world, "production", COMMAND_RETRY);
    assert_int_equal(member->state, PHASE_SKIPPED);
    assert_int_equal(ladder->state, PHASE_SKIPPED);
    assert_true(workflow->ended_ms != 0);

    world_command(world, "validate", COMMAND_RETRY);
    assert_int_equal(member->state, PHASE_BLOCKED);
    assert_int_equal(ladder->state, PHASE_BLOCKED);
}

static void a_hold_outlasts_the_failure_of_a_phase_before(void **state)
{
    struct world *world = *state;
    world->workflow->phases[0].fail_finally = true;
    world_begin(world, false);
    world_command(world, "production", COMMAND_HOLD);
    fails(world, "validate");
    assert_int_equal(state_of(world, "production"), PHASE_SKIPPED);
    assert_true(world->workflow->ended_ms != 0);

    world_command(world, "validate", COMMAND_RETRY);
    assert_int_equal(state_of(world, "production"), PHASE_HELD);
    succeeds(world, "validate");
    assert_int_equal(state_of(world, "production"), PHASE_HELD);
    world_command(world, "production", COMMAND_RELEASE);
    assert_int_equal(state_of(world, "production"), PHASE_QUEUED);
}

/* The daemon releases what a budget holds when the budget is raised. It holds the phase again if
 * the budget is still spent. */
static void the_hold_of_a_budget_ends_with_a_skip(void **state)
{
    struct world *world = *state;
    world->workflow->phases[0].fail_finally = true;
    world_begin(world, false);
    world_step(world, (struct core_event){.kind = EV_COMMAND,
                                          .phase = world_phase(world, "production"),
                                          .command = COMMAND_HOLD,
                                          .budget = BUDGET_WORKFLOW});
    assert_int_equal(state_of(world, "production"), PHASE_HELD);
    fails(world, "validate");
    world_command(world, "validate", COMMAND_RETRY);
    assert_int_equal(state_of(world, "production"), PHASE_BLOCKED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_phase_stays_skipped_until_no_phase_before_it_is_lost),
        WORLD_TEST(a_retry_behind_a_cancelled_phase_waits_for_the_retry_of_that_phase),
        WORLD_TEST(a_retry_of_a_matrix_behind_a_lost_phase_leaves_nothing_that_waits),
        WORLD_TEST(a_hold_outlasts_the_failure_of_a_phase_before),
        WORLD_TEST(the_hold_of_a_budget_ends_with_a_skip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
