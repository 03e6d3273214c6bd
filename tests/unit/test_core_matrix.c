/* What the core does for matrices: members begin, members end, and one member is chosen. */
#include "tests/unit/unit.h"

#include "daemon/core/decision.h"
#include "tests/unit/matrix_world.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Claims ----------------------------------------------------------------------------------- */

static void members_run_and_the_best_starts_what_follows(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 0, 1);
    assert_string_equal(world_trace(world), "ladder.1: blocked -> queued\nsubmit ladder.1#1\n"
                                            "ladder.2: blocked -> queued\nsubmit ladder.2#1\n"
                                            "ladder.3: blocked -> queued\nsubmit ladder.3#1\n");
    matrix_succeeds(world, "ladder.1");
    matrix_succeeds(world, "ladder.3");
    matrix_runs(world, "ladder.2");
    world_ended(world, "ladder.2", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    (void)world_trace(world);
    world_judged(world, "ladder.2", GATE_PASSED);
    assert_string_equal(world_trace(world), "ladder.2: deciding -> succeeded\n"
                                            "tell-end ladder.2#1\n"
                                            "ladder: blocked -> deciding\njudge ladder\n");
    matrix_chooses(world, false, 2, (const char *const[]){"ladder.3", "ladder.1"});
    assert_string_equal(world_trace(world), "ladder: deciding -> succeeded\n"
                                            "train: blocked -> queued\nsubmit train#1\n"
                                            "promotion of ladder by its gate\n");
    assert_ptr_equal(world_phase(world, "ladder")->members->best, world_phase(world, "ladder.3"));
    assert_string_equal(world_phase(world, "ladder")->reason, "as measured");
    assert_int_equal(world_phase(world, "train")->run->seat->allocation->gpus_per_node, 4);
}

static void a_member_whose_params_fail_is_out_without_a_person(void **state)
{
    static const enum run_cause causes[] = {CAUSE_OOM, CAUSE_NAN, CAUSE_GUARD};
    static const char *const names[] = {"ladder.1", "ladder.2", "ladder.3"};
    struct world *world = *state;
    matrix_begins(world, 0, 1);
    for (size_t i = 0; i < MEMBERS; i++) {
        matrix_fails(world, names[i], causes[i]);
        assert_int_equal(world_phase(world, names[i])->state, PHASE_FAILED);
    }
    const struct phase *matrix = world_phase(world, "ladder");
    assert_int_equal(matrix->state, PHASE_HELD);
    assert_string_equal(matrix->reason, "no member is left: 3 failed");
    assert_int_equal(workflow_state(world->workflow), WORKFLOW_HELD);
}

static void a_member_that_fails_its_gate_is_out(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 0, 1);
    matrix_runs(world, "ladder.1");
    world_ended(world, "ladder.1", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "ladder.1", GATE_FAILED);
    assert_int_equal(world_phase(world, "ladder.1")->state, PHASE_FAILED);
}

static void a_member_that_cannot_be_judged_is_not_out(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 0, 1);
    matrix_runs(world, "ladder.1");
    world_ended(world, "ladder.1", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "ladder.1", GATE_INCOMPLETE);
    assert_int_equal(world_phase(world, "ladder.1")->state, PHASE_HELD);
    assert_int_equal(world_phase(world, "ladder.1")->hold, HOLD_GATE);
    world_command(world, "ladder.1", COMMAND_PROMOTE);
    assert_int_equal(world_phase(world, "ladder.1")->state, PHASE_SUCCEEDED);
}

static void the_matrix_waits_for_a_person_after_other_failures(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 0, 1);
    matrix_succeeds(world, "ladder.1");
    matrix_succeeds(world, "ladder.2");
    matrix_fails(world, "ladder.3", CAUSE_EXIT);
    assert_int_equal(world_phase(world, "ladder.3")->state, PHASE_HELD);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_BLOCKED);
    assert_int_equal(workflow_state(world->workflow), WORKFLOW_HELD);
    world_command(world, "ladder.3", COMMAND_CANCEL);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_DECIDING);
}

static void known_results_count_at_once(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < 2; i++) {
        world->workflow->phases[i].reused = 77;
        world->workflow->phases[i].reused_from = matrix_copy("5/ladder.9");
    }
    matrix_begins(world, 1, 1);
    assert_string_equal(world_trace(world), "ladder.1: blocked -> succeeded\n"
                                            "ladder.2: blocked -> succeeded\n"
                                            "ladder.3: blocked -> queued\nsubmit ladder.3#1\n");
    assert_string_equal(world_phase(world, "ladder.1")->reason, "the results of 5/ladder.9");
    matrix_fails(world, "ladder.3", CAUSE_OOM);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_DECIDING);
}

static void members_with_known_results_of_a_rung_are_not_run_again(void **state)
{
    struct world *world = *state;
    for (size_t i = 0; i < 3; i++) {
        world->workflow->phases[i].reused = 77;
        world->workflow->phases[i].reused_from = matrix_copy("5/ladder.9");
        world->workflow->phases[i].reused_rung = i == 2;
    }
    matrix_begins(world, 1, 3);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_DECIDING);
    (void)world_trace(world);
    matrix_chooses(world, true, 2, (const char *const[]){"ladder.3", "ladder.1"});
    assert_string_equal(world_trace(world), "ladder.1: succeeded -> blocked\n"
                                            "ladder: deciding -> blocked\n"
                                            "ladder.1: blocked -> queued\nsubmit ladder.1#1\n");
    matrix_succeeds(world, "ladder.1");
    (void)world_trace(world);
    matrix_chooses(world, true, 1, (const char *const[]){"ladder.3"});
    assert_string_equal(world_trace(world), "ladder.3: succeeded -> blocked\n"
                                            "ladder: deciding -> blocked\n"
                                            "ladder.3: blocked -> queued\ntell-next ladder.3#1\n");
}

static void packed_members_run_one_after_another_in_one_job(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 1);
    assert_string_equal(world_trace(world), "ladder.1: blocked -> queued\nsubmit ladder.1#1\n");
    matrix_runs(world, "ladder.1");
    (void)world_trace(world);
    world_ended(world, "ladder.1", OUTCOME_FAILED, CAUSE_OOM, 10);
    assert_string_equal(world_trace(world), "ladder.1#1: running -> ended\n"
                                            "ladder.1: active -> failed\n"
                                            "ladder.2: blocked -> queued\ntell-next ladder.2#1\n");
    matrix_runs(world, "ladder.2");
    world_ended(world, "ladder.2", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    (void)world_trace(world);
    world_judged(world, "ladder.2", GATE_PASSED);
    assert_string_equal(world_trace(world), "ladder.2: deciding -> succeeded\n"
                                            "ladder.3: blocked -> queued\ntell-next ladder.3#1\n");
    assert_ptr_equal(world_phase(world, "ladder.3")->run->seat->allocation,
                     world_phase(world, "ladder.1")->run->seat->allocation);
}

static void members_side_by_side_share_a_job_and_have_a_slot_each(void **state)
{
    struct world *world = *state;
    world_phase(world, "ladder")->members->is_parallel = true;
    for (size_t i = 0; i < MEMBERS; i++)
        world->workflow->phases[i].beside = world_phase(world, "ladder");
    matrix_begins(world, 2, 1);
    assert_string_equal(world_trace(world), "ladder.1: blocked -> queued\nsubmit ladder.1#1\n"
                                            "ladder.2: blocked -> queued\ntell-next ladder.2#1\n");
    const struct seat *first = world_phase(world, "ladder.1")->run->seat;
    const struct seat *second = world_phase(world, "ladder.2")->run->seat;
    assert_ptr_equal(first->allocation, second->allocation);
    assert_int_equal(first->slot, 0);
    assert_int_equal(second->slot, 1);
    matrix_runs(world, "ladder.1");
    world_event(world, EV_RUN_STARTED, "ladder.2");
    (void)world_trace(world);
    /* The next member takes over the GPUs of the member that has ended. */
    world_ended(world, "ladder.2", OUTCOME_FAILED, CAUSE_OOM, 10);
    assert_string_equal(world_trace(world), "ladder.2#1: running -> ended\n"
                                            "ladder.2: active -> failed\n"
                                            "ladder.3: blocked -> queued\ntell-next ladder.3#1\n");
    assert_ptr_equal(world_phase(world, "ladder.3")->run->seat->allocation, second->allocation);
    assert_int_equal(phase_parts(world_phase(world, "ladder.3")), 2);
    /* The host has ended: no member follows it, and its job goes on for the other member. */
    world_ended(world, "ladder.1", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    (void)world_trace(world);
    world_judged(world, "ladder.1", GATE_PASSED);
    assert_string_equal(world_trace(world),
                        "ladder.1: deciding -> succeeded\ntell-end ladder.1#1\n");
}

/* Otherwise each member that stops would let the next one begin. */
static void a_matrix_holds_its_members_in_one_step(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 1);
    matrix_runs(world, "ladder.1");
    (void)world_trace(world);
    world_command(world, "ladder", COMMAND_HOLD);
    assert_string_equal(world_trace(world),
                        "ladder.1#1: running -> stopping\ntell-stop ladder.1#1\n"
                        "ladder.2: blocked -> held\n"
                        "ladder.3: blocked -> held\n");
    world_ended(world, "ladder.1", OUTCOME_CANCELLED, CAUSE_NONE, 10);
    assert_int_equal(world_phase(world, "ladder.1")->state, PHASE_HELD);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_BLOCKED);
    (void)world_trace(world);
    world_command(world, "ladder", COMMAND_RELEASE);
    assert_string_equal(world_trace(world), "ladder.1: held -> queued\nsubmit ladder.1#2\n"
                                            "ladder.2: held -> blocked\n"
                                            "ladder.3: held -> blocked\n");
}

/* The lead of the job leaves for a requeue, which Slurm does not do. */
static void a_node_is_not_blamed_for_a_job_that_ends_before_a_member_joins_it(void **state)
{
    struct world *world = *state;
    world_phase(world, "ladder")->members->is_parallel = true;
    for (size_t i = 0; i < MEMBERS; i++)
        world->workflow->phases[i].beside = world_phase(world, "ladder");
    matrix_begins(world, 2, 1);
    matrix_runs(world, "ladder.1");
    struct run *joined = world_phase(world, "ladder.2")->run;
    struct allocation *allocation = joined->seat->allocation;
    assert_true(seat_is_joined(joined->seat) && !joined->has_begun);
    world_requeues(world, "ladder.1", 5);
    world_seen(world, "ladder.1", "completed", true);
    world_wait(world, OUTCOME_GRACE_MS);
    (void)snprintf(allocation->nodes, NODES_MAX, "n2");
    world_event(world, EV_RUN_SILENT, "ladder.1");
    world_event(world, EV_RUN_SILENT, "ladder.2");
    assert_int_equal(joined->state, RUN_ENDED);
    assert_null(strstr(world_trace(world), "blame"));
}

/* A program that failed by itself is retried: in the free part of the job, and not in the first
 * part. */
static void a_member_that_comes_back_gets_the_free_slot(void **state)
{
    struct world *world = *state;
    world_phase(world, "ladder")->members->is_parallel = true;
    for (size_t i = 0; i < MEMBERS; i++)
        world->workflow->phases[i].beside = world_phase(world, "ladder");
    matrix_begins(world, 3, 1);
    matrix_runs(world, "ladder.1");
    world_event(world, EV_RUN_STARTED, "ladder.2");
    world_event(world, EV_RUN_STARTED, "ladder.3");
    world_ended(world, "ladder.2", OUTCOME_FAILED, CAUSE_EXIT, 10);
    world_command(world, "ladder.2", COMMAND_RETRY);
    assert_int_equal(world_phase(world, "ladder.2")->run->attempt, 2);
    assert_int_equal(world_phase(world, "ladder.2")->run->seat->slot, 1);
    assert_ptr_equal(world_phase(world, "ladder.2")->run->seat->allocation,
                     world_phase(world, "ladder.1")->run->seat->allocation);
}

static void a_preempted_member_continues_in_its_job_before_the_next(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 1);
    matrix_runs(world, "ladder.1");
    (void)world_trace(world);
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, "ladder.1")->run,
                                          .outcome = OUTCOME_PREEMPTED,
                                          .requeues = true,
                                          .step = 5});
    assert_string_equal(world_trace(world), "ladder.1#1: running -> ended\n"
                                            "ladder.1: active -> queued\ntell-next ladder.1#2\n");
    assert_int_equal(world_phase(world, "ladder.2")->state, PHASE_BLOCKED);
}

/* The job must have the time that the longest member took, and a quarter more. */
static void a_member_without_enough_time_left_is_submitted(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 1);
    matrix_runs(world, "ladder.1");
    world->now_ms += 2700 * 1000;
    world_ended(world, "ladder.1", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    (void)world_trace(world);
    world_judged(world, "ladder.1", GATE_PASSED);
    assert_string_equal(world_trace(world), "ladder.1: deciding -> succeeded\n"
                                            "tell-end ladder.1#1\n"
                                            "ladder.2: blocked -> queued\nsubmit ladder.2#1\n");
}

/* The allocation of the last member is kept while the matrix decides. */
static void the_next_rung_of_packed_members_begins_in_their_job(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 2);
    matrix_succeeds(world, "ladder.1");
    matrix_succeeds(world, "ladder.2");
    const struct allocation *allocation = world_phase(world, "ladder.3")->run->seat->allocation;
    matrix_runs(world, "ladder.3");
    (void)world_trace(world);
    world_ended(world, "ladder.3", OUTCOME_FAILED, CAUSE_OOM, 10);
    assert_string_equal(world_trace(world), "ladder.3#1: running -> ended\n"
                                            "ladder.3: active -> failed\n"
                                            "ladder: blocked -> deciding\njudge ladder\n");
    matrix_chooses(world, true, 2, (const char *const[]){"ladder.2", "ladder.1"});
    assert_string_equal(world_trace(world), "ladder.2: succeeded -> blocked\n"
                                            "ladder.1: succeeded -> blocked\n"
                                            "ladder: deciding -> blocked\n"
                                            "ladder.1: blocked -> queued\ntell-next ladder.1#2\n");
    assert_ptr_equal(world_phase(world, "ladder.1")->run->seat->allocation, allocation);
    matrix_succeeds(world, "ladder.1");
    matrix_succeeds(world, "ladder.2");
    (void)world_trace(world);
    matrix_chooses(world, false, 1, (const char *const[]){"ladder.2"}); /* train wants more GPUs */
    assert_string_equal(world_trace(world), "ladder: deciding -> succeeded\n"
                                            "train: blocked -> queued\nsubmit train#1\n"
                                            "promotion of ladder by its gate\n"
                                            "tell-end ladder.2#2\n");
}

static void a_matrix_that_waits_for_a_person_keeps_no_allocation(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 1);
    matrix_succeeds(world, "ladder.1");
    matrix_succeeds(world, "ladder.2");
    matrix_succeeds(world, "ladder.3");
    (void)world_trace(world);
    matrix_is_judged(world, GATE_FAILED);
    assert_string_equal(world_trace(world), "tell-end ladder.3#1\nladder: deciding -> held\n");
}

/* The last member by the order of the runs: different clocks may have given their times. */
static void the_last_member_keeps_the_allocation_though_the_clock_was_set_back(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 1, 1);
    matrix_succeeds(world, "ladder.1");
    matrix_succeeds(world, "ladder.2");
    struct core_event set = {.kind = EV_CLOCK, .step = -600 * 1000};
    world->now_ms += set.step;
    world_step(world, set);
    matrix_succeeds(world, "ladder.3");
    (void)world_trace(world);
    matrix_is_judged(world, GATE_FAILED);
    assert_string_equal(world_trace(world), "tell-end ladder.3#1\nladder: deciding -> held\n");
}

static void the_better_members_go_on_to_the_next_rung(void **state)
{
    struct world *world = *state;
    matrix_begins(world, 0, 2);
    matrix_succeeds(world, "ladder.1");
    matrix_succeeds(world, "ladder.2");
    matrix_succeeds(world, "ladder.3");
    (void)world_trace(world);
    matrix_chooses(world, true, 2, (const char *const[]){"ladder.3", "ladder.1"});
    assert_string_equal(world_trace(world), "ladder.3: succeeded -> blocked\n"
                                            "ladder.1: succeeded -> blocked\n"
                                            "ladder: deciding -> blocked\n"
                                            "ladder.1: blocked -> queued\nsubmit ladder.1#2\n"
                                            "ladder.3: blocked -> queued\nsubmit ladder.3#2\n");
    assert_int_equal(world_phase(world, "ladder.1")->time_s, 7200);
    assert_int_equal(world_phase(world, "ladder.2")->time_s, 3600);
    /* The member that was cut cannot come back. */
    assert_int_equal(core_command_check(world_phase(world, "ladder.2"), COMMAND_RETRY, NULL),
                     -EPERM);
    matrix_succeeds(world, "ladder.1");
    matrix_fails(world, "ladder.3", CAUSE_OOM);
    assert_int_equal(world_phase(world, "ladder")->state, PHASE_DECIDING);
}

/* A person decided the gate of the first rung only. */
static void a_member_that_goes_on_is_decided_by_its_gate_again(void **state)
{
    struct world *world = *state;
    const struct phase *member = world_phase(world, "ladder.1");
    matrix_begins(world, 0, 2);
    matrix_runs(world, "ladder.1");
    world_ended(world, "ladder.1", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "ladder.1", GATE_INCOMPLETE);
    world_command(world, "ladder.1", COMMAND_PROMOTE);
    assert_true(member->is_overridden);
    matrix_succeeds(world, "ladder.2");
    matrix_succeeds(world, "ladder.3");
    matrix_chooses(world, true, 1, (const char *const[]){"ladder.1"});
    matrix_succeeds(world, "ladder.1");
    assert_int_equal(member->state, PHASE_SUCCEEDED);
    assert_false(member->is_overridden);
}

static void members_are_ordered_by_value_and_the_last_are_cut(void **state)
{
    (void)state;
    static const struct {
        bool is_min;
        double cut, values[4]; /* NaN: the member has failed */
        size_t kept;
        char order[5];
    } rows[] = {
        {false, 0, {1, 3, 2, 4}, 4, "3120"},
        {true, 0, {1, 3, 2, 4}, 4, "0213"},
        {false, 0.5, {1, 3, 2, 4}, 2, "3120"},
        {false, 2.0 / 3, {1, 3, NAN, 2}, 1, "1302"}, /* two of three members are cut */
        {false, 0.99, {1, 1, 1, 1}, 1, "0123"},      /* of equal members, the earlier wins */
        {false, 0.5, {NAN, NAN, NAN, NAN}, 0, "0123"},
        {false, 0.34, {INFINITY, 3, -INFINITY, 4}, 3, "0312"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct phase phases[4] = {{.index = 0}, {.index = 1}, {.index = 2}, {.index = 3}};
        struct core_score scores[4];
        for (size_t j = 0; j < 4; j++)
            scores[j] = (struct core_score){.member = &phases[j],
                                            .value = rows[i].values[j],
                                            .is_left = !isnan(rows[i].values[j])};
        assert_int_equal(core_choose(scores, 4, rows[i].is_min, rows[i].cut), rows[i].kept);
        for (size_t j = 0; j < 4; j++)
            assert_int_equal(scores[j].member->index, rows[i].order[j] - '0');
    }
}

/* --- Random walks ----------------------------------------------------------------------------- */

enum { WALKS = 2000, EVENTS = 150 };

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*seed >> 33) % limit;
}

static void walks_a_run(struct world *world, uint64_t *seed, struct run *run)
{
    static const enum core_event_kind kinds[] = {EV_SUBMITTED, EV_RUN_STARTED, EV_RUN_STARTED,
                                                 EV_RUN_ENDED, EV_RUN_ENDED,   EV_RUN_SILENT};
    struct core_event event = {
        .kind = kinds[random_below(seed, 6)], .run = run, .allocation = run->seat->allocation};
    event.slurm_id = 41;
    event.step = random_below(seed, 1000);
    event.outcome = OUTCOME_SUCCEEDED + random_below(seed, 5);
    if (event.outcome == OUTCOME_FAILED)
        event.cause = CAUSE_EXIT + random_below(seed, 8);
    event.requeues = random_below(seed, 4) == 0;
    event.ended_ms = world->now_ms;
    if (random_below(seed, 4) == 0)
        world_seen(world, run->phase->name, random_below(seed, 2) ? "running" : "failed",
                   random_below(seed, 3) == 0);
    world_step(world, event);
}

/* Chooses all members of the rung, or the first of them. */
static void walks_a_decision(struct world *world, uint64_t *seed)
{
    const struct phase *matrix = world_phase(world, "ladder");
    const char *names[MEMBERS];
    size_t count = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct phase *member = &world->workflow->phases[i];
        if (member->state == PHASE_SUCCEEDED && member->rung == matrix->rung)
            names[count++] = member->name;
    }
    assert_true(count > 0);
    bool goes_on = matrix->rung + 1 < matrix->members->rung_count && count > 1;
    matrix_chooses(world, goes_on, random_below(seed, 5) ? count - (goes_on && count > 2) : 0,
                   names);
}

static void check_walk(const struct world *world)
{
    const struct workflow *workflow = world->workflow;
    const struct phase *matrix = &workflow->phases[MATRIX], *next = &workflow->phases[NEXT];
    unsigned lanes = 0;
    assert_null(matrix->run);
    if (next->run && next->state != PHASE_SKIPPED)
        assert_int_equal(matrix->state, PHASE_SUCCEEDED);
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct phase *member = &workflow->phases[i];
        lanes += member->state == PHASE_QUEUED || member->state == PHASE_ACTIVE ||
                 member->state == PHASE_DECIDING;
        assert_true(member->rung <= matrix->rung);
        if (matrix->state == PHASE_DECIDING || matrix->state == PHASE_SUCCEEDED)
            assert_true(phase_state_is_final(member->state));
        /* Nothing waits without a reason. */
        if (member->state == PHASE_BLOCKED && matrix->state == PHASE_BLOCKED)
            assert_true(matrix->members->lanes > 0);
    }
    assert_true(matrix->members->lanes == 0 || lanes <= matrix->members->lanes);
    for (size_t i = 0; matrix->members->is_parallel && i < workflow->run_count; i++) {
        const struct run *run = workflow->runs[i];
        for (size_t j = 0; run->state != RUN_ENDED && j < i; j++) { /* no GPU has two programs */
            const struct run *other = workflow->runs[j];
            if (other->state != RUN_ENDED && other->seat->allocation == run->seat->allocation)
                assert_int_not_equal(other->seat->slot, run->seat->slot);
        }
    }
    if (matrix->state == PHASE_BLOCKED) { /* the matrix waits for some member */
        bool waits = false;
        for (size_t i = 0; i < MEMBERS; i++)
            waits = waits || !phase_state_is_final(workflow->phases[i].state);
        assert_true(waits);
    }
}

static void any_event_in_any_order_keeps_the_invariants(void **state)
{
    (void)state;
    for (uint64_t walk = 1; walk <= WALKS; walk++) {
        struct world world;
        uint64_t seed = walk;
        world_init(&world);
        workflow_free(world.workflow);
        world.workflow = matrix_workflow();
        struct matrix *matrix = world_phase(&world, "ladder")->members;
        matrix->lanes = random_below(&seed, 3);
        matrix->rung_count = 1 + random_below(&seed, 3);
        world_phase(&world, "ladder")->fail_finally = random_below(&seed, 2);
        matrix->is_parallel = matrix->lanes > 0 && random_below(&seed, 2);
        for (size_t i = 0; matrix->is_parallel && i < MEMBERS; i++)
            world.workflow->phases[i].beside = world_phase(&world, "ladder");
        world_begin(&world, random_below(&seed, 4) == 0);
        for (int i = 0; i < EVENTS; i++) {
            struct workflow *workflow = world.workflow;
            struct phase *phase = &workflow->phases[random_below(&seed, PHASES)];
            world.now_ms += random_below(&seed, 8) ? random_below(&seed, 2000) : 200 * 1000;
            if (phase->members && phase->state == PHASE_DECIDING)
                walks_a_decision(&world, &seed);
            else if (phase->state == PHASE_DECIDING)
                world_judged(&world, phase->name,
                             random_below(&seed, 3) ? GATE_PASSED : GATE_FAILED);
            else if (random_below(&seed, 10) == 0)
                world_command(&world, phase->name,
                              (enum phase_command)random_below(&seed, COMMAND_COUNT));
            else if (phase->run)
                walks_a_run(&world, &seed, phase->run);
            check_walk(&world);
        }
        world_fini(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, matrix_setup, matrix_teardown)
        CLAIM(members_run_and_the_best_starts_what_follows),
        CLAIM(a_member_whose_params_fail_is_out_without_a_person),
        CLAIM(a_member_that_fails_its_gate_is_out),
        CLAIM(a_member_that_cannot_be_judged_is_not_out),
        CLAIM(the_matrix_waits_for_a_person_after_other_failures),
        CLAIM(known_results_count_at_once),
        CLAIM(members_with_known_results_of_a_rung_are_not_run_again),
        CLAIM(packed_members_run_one_after_another_in_one_job),
        CLAIM(members_side_by_side_share_a_job_and_have_a_slot_each),
        CLAIM(a_matrix_holds_its_members_in_one_step),
        CLAIM(a_member_that_comes_back_gets_the_free_slot),
        CLAIM(a_preempted_member_continues_in_its_job_before_the_next),
        CLAIM(a_member_without_enough_time_left_is_submitted),
        CLAIM(the_next_rung_of_packed_members_begins_in_their_job),
        CLAIM(a_matrix_that_waits_for_a_person_keeps_no_allocation),
        CLAIM(the_last_member_keeps_the_allocation_though_the_clock_was_set_back),
        CLAIM(the_better_members_go_on_to_the_next_rung),
        CLAIM(a_member_that_goes_on_is_decided_by_its_gate_again),
        CLAIM(a_node_is_not_blamed_for_a_job_that_ends_before_a_member_joins_it),
        cmocka_unit_test(members_are_ordered_by_value_and_the_last_are_cut),
        cmocka_unit_test(any_event_in_any_order_keeps_the_invariants),
    };
    return cmocka_run_group_tests_name("core_matrix", tests, NULL, NULL);
}
