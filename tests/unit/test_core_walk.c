/* Random walks: any event comes in any state, in any order, and also twice. The core asserts every
 * move by its tables, and the test asserts what must never happen. The seed of a failing walk is
 * printed, and `test_core_walk SEED` repeats only this walk. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WALKS = 3000, EVENTS = 120 };

static uint64_t only_seed;

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*seed >> 33) % limit;
}

static struct core_event random_job_event(struct world *world, uint64_t *seed)
{
    static const enum cluster_job_state states[] = {
        CLUSTER_JOB_PENDING,   CLUSTER_JOB_RUNNING, CLUSTER_JOB_COMPLETED, CLUSTER_JOB_FAILED,
        CLUSTER_JOB_PREEMPTED, CLUSTER_JOB_TIMEOUT, CLUSTER_JOB_CANCELLED, CLUSTER_JOB_NODE_FAIL};
    struct workflow *workflow = world->workflow;
    static const enum core_event_kind kinds[] = {EV_SUBMITTED, EV_REFUSED,  EV_LIMITED,   EV_UNSURE,
                                                 EV_UNKNOWN,   EV_JOB_SEEN, EV_JOB_ABSENT};
    struct core_event event = {.kind = kinds[random_below(seed, 7)], .slurm_id = 41};
    uint32_t state = random_below(seed, 8);
    event.allocation =
        workflow->allocations[random_below(seed, (uint32_t)workflow->allocation_count)];
    event.seen.state = states[state];
    event.seen.is_final = state >= 2;
    event.seen.is_waiting = state == 0 && random_below(seed, 2);
    event.seen.is_stuck = state == 0 && random_below(seed, 8) == 0;
    event.seen.restarts = random_below(seed, 4);
    return event;
}

static struct core_event random_event(struct world *world, uint64_t *seed)
{
    struct workflow *workflow = world->workflow;
    static const enum core_event_kind kinds[] = {
        EV_RUN_STARTED, EV_RUN_STOPPING, EV_RUN_ENDED, EV_RUN_SILENT, EV_CHECKPOINT,
        EV_PROGRESS,    EV_JUDGED,       EV_COMMAND,   EV_TIME,       EV_SUSPECT};
    if (workflow->allocation_count && random_below(seed, 3) == 0)
        return random_job_event(world, seed);
    struct core_event event = {.kind = kinds[random_below(seed, sizeof kinds / sizeof *kinds)]};
    if (!workflow->run_count && event.kind != EV_COMMAND)
        event.kind = EV_TIME;
    if (workflow->run_count)
        event.run = workflow->runs[random_below(seed, (uint32_t)workflow->run_count)];
    event.outcome = OUTCOME_SUCCEEDED + random_below(seed, 5);
    event.cause = event.outcome == OUTCOME_FAILED ? CAUSE_EXIT + random_below(seed, 8) : CAUSE_NONE;
    event.step = random_below(seed, 1000);
    event.since = random_below(seed, 1000);
    event.path = "/out/checkpoint";
    event.ended_ms = world->now_ms;
    event.requeues = random_below(seed, 2);
    event.phase = &workflow->phases[random_below(seed, 2)];
    event.gate = (enum gate_result)random_below(seed, 3);
    event.command = (enum phase_command)random_below(seed, COMMAND_COUNT);
    return event;
}

static bool is_lost(const struct phase *phase)
{
    return phase_state_is_final(phase->state) && phase->state != PHASE_SUCCEEDED;
}

static void check_world(const struct world *world)
{
    const struct workflow *workflow = world->workflow;
    const struct phase *first = &workflow->phases[0], *second = &workflow->phases[1];
    assert_true(workflow_is_final(workflow) == (workflow->ended_ms != 0));
    if (second->run) /* nothing starts before the phase before it has succeeded */
        assert_int_equal(first->state, PHASE_SUCCEEDED);
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *run = workflow->runs[i];
        bool is_live = run->state != RUN_ENDED;
        assert_true(is_live == (run->outcome == OUTCOME_NONE));
        if (is_live) { /* a phase has at most one live run, and knows it */
            assert_ptr_equal(run->phase->run, run);
            assert_true(run->phase->state == PHASE_QUEUED || run->phase->state == PHASE_ACTIVE);
        }
    }
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        bool moves = phase->state == PHASE_QUEUED || phase->state == PHASE_ACTIVE;
        if (moves) /* nothing waits without a reason */
            assert_true(phase->run && phase->run->state != RUN_ENDED);
        if (phase->state == PHASE_SKIPPED) /* it keeps the hold of a person */
            assert_true(phase->hold == HOLD_NONE || phase->hold == HOLD_USER);
        else
            assert_true((phase->state == PHASE_HELD) == (phase->hold != HOLD_NONE));
        if (phase->state == PHASE_BLOCKED && !phase->members) /* else it waits forever */
            for (size_t j = 0; j < phase->after_count; j++)
                assert_false(is_lost(&workflow->phases[phase->after[j]]));
    }
}

static void walk(uint64_t seed)
{
    struct world world;
    world_init(&world);
    world.workflow->phases[0].fail_finally = random_below(&seed, 2);
    world.workflow->phases[1].promote_manual = random_below(&seed, 2);
    world_begin(&world, random_below(&seed, 2));
    for (int i = 0; i < EVENTS; i++) {
        world.now_ms += random_below(&seed, 8) ? random_below(&seed, 2000) : 200 * 1000;
        world_step(&world, random_event(&world, &seed));
        check_world(&world);
    }
    world_fini(&world);
}

static void any_event_in_any_state_keeps_the_invariants(void **state)
{
    (void)state;
    if (only_seed) {
        walk(only_seed);
        return;
    }
    for (uint64_t seed = 1; seed <= WALKS; seed++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%llu", (unsigned long long)seed);
        (void)setenv("PHASED_WALK", name, 1); /* cmocka does not say which walk failed */
        walk(seed);
    }
}

static int say_seed(void **state)
{
    (void)state;
    const char *seed = getenv("PHASED_WALK");
    (void)fprintf(stderr, "# the last walk had seed %s\n", seed ? seed : "of the command line");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        only_seed = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(any_event_in_any_state_keeps_the_invariants, say_seed),
    };
    return cmocka_run_group_tests_name("core walk", tests, NULL, NULL);
}
