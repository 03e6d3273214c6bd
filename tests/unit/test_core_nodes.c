/* Which node the core blames for the end of a run. */
#include "tests/unit/unit.h"

#include "daemon/core/decision.h"
#include "tests/unit/core_world.h"

#include <stdio.h>
#include <string.h>

/* Runs the phase until a rank trains. */
static void phase_runs(struct world *world)
{
    world_event(world, EV_SUBMITTED, "validate");
    world_event(world, EV_RUN_STARTED, "validate");
}

/* Like world_ended(), reported by a lead that names this node. */
static void ended_by_node(struct world *world, enum run_cause cause, const char *node)
{
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, "validate")->run,
                                          .outcome = OUTCOME_FAILED,
                                          .cause = cause,
                                          .node = node,
                                          .step = -1});
}

static void a_node_that_takes_a_run_down_is_blamed(void **state)
{
    static const struct {
        enum run_cause cause;
        const char *named, *of_job, *blamed;
    } rows[] = {
        {CAUSE_NODE_FAIL, "n2", "n[1-2]", "n2"}, {CAUSE_LAUNCH, "n2", "n2", "n2"},
        {CAUSE_PREFLIGHT, "n2", "n[1-2]", "n2"}, {CAUSE_NODE_FAIL, NULL, "n2", NULL},
        {CAUSE_EXIT, "n2", "n2", NULL},          {CAUSE_HANG, "n2", "n2", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        world_init(&world);
        world_begin(&world, false);
        phase_runs(&world);
        (void)snprintf(world_phase(&world, "validate")->run->seat->allocation->nodes, NODES_MAX,
                       "%s", rows[i].of_job);
        ended_by_node(&world, rows[i].cause, rows[i].named);
        const char *blame = strstr(world_trace(&world), "blame ");
        if (rows[i].blamed)
            assert_memory_equal(blame, "blame n2 for validate#1\n", 24);
        else
            assert_null(blame);
        world_fini(&world);
    }
}

static void all_nodes_that_failed_their_preflight_are_blamed(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_begin(&world, false);
    phase_runs(&world);
    ended_by_node(&world, CAUSE_PREFLIGHT, "n2,n5");
    const char *trace = world_trace(&world);
    assert_non_null(strstr(trace, "blame n2 for validate#1\n"));
    assert_non_null(strstr(trace, "blame n5 for validate#1\n"));
    assert_int_equal(world_phase(&world, "validate")->state, PHASE_QUEUED);
    world_fini(&world);
}

static void failed_preflights_count_in_a_row(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_begin(&world, false);
    struct phase *phase = world_phase(&world, "validate");
    for (unsigned i = 1; i <= 3; i++) {
        phase_runs(&world);
        ended_by_node(&world, CAUSE_PREFLIGHT, "n2");
        assert_int_equal(phase->failures[CAUSE_PREFLIGHT], i);
    }
    phase_runs(&world);
    world_step(&world, (struct core_event){.kind = EV_RUN_ENDED,
                                           .run = phase->run,
                                           .outcome = OUTCOME_PREEMPTED,
                                           .step = 7});
    assert_int_equal(phase->failures[CAUSE_PREFLIGHT], 0);
    world_fini(&world);
}

static void the_only_node_of_a_silent_job_is_blamed(void **state)
{
    static const struct {
        enum cluster_job_state job_state;
        const char *nodes;
        bool is_blamed;
    } rows[] = {
        {CLUSTER_JOB_NODE_FAIL, "n2", true},     {CLUSTER_JOB_NODE_FAIL, "n[1-2]", false},
        {CLUSTER_JOB_NODE_FAIL, "n1,n2", false}, {CLUSTER_JOB_NODE_FAIL, "", false},
        {CLUSTER_JOB_TIMEOUT, "n2", false},      {CLUSTER_JOB_PENDING, "", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        world_init(&world);
        world_begin(&world, false);
        phase_runs(&world);
        struct allocation *allocation = world_phase(&world, "validate")->run->seat->allocation;
        struct core_event event = {.kind = EV_JOB_SEEN, .allocation = allocation};
        event.seen.state = rows[i].job_state;
        event.seen.nodes = rows[i].nodes;
        event.seen.is_stuck = rows[i].job_state == CLUSTER_JOB_PENDING;
        event.seen.is_final = !event.seen.is_stuck;
        if (event.seen.is_stuck) /* held after a failed launch: where it was last seen */
            (void)snprintf(allocation->nodes, NODES_MAX, "n2");
        world_step(&world, event);
        world.now_ms += 5000;
        world_event(&world, EV_RUN_SILENT, "validate");
        const char *trace = world_trace(&world);
        assert_non_null(strstr(trace, "validate#1: running -> ended\n"));
        assert_int_equal(strstr(trace, "blame n2 for validate#1\n") != NULL, rows[i].is_blamed);
        world_fini(&world);
    }
}

/* How a run comes into a job that had a run before. */
enum way { PROMOTED, REQUEUED, NOT_REQUEUED /* the lead wanted it, and Slurm did not do it */ };

/* A run is promoted in place, or is to go on in its requeued job, and never begins: its job ends.
 * Returns whether the only node of the job is blamed. */
static bool is_blamed_in_place(enum way way, const char *job_state)
{
    struct world world;
    world_init(&world);
    world_begin(&world, false);
    world_event(&world, EV_SUBMITTED, "validate");
    struct allocation *allocation = world_phase(&world, "validate")->run->seat->allocation;
    world_seen(&world, "validate", "running", false);
    world_event(&world, EV_RUN_STARTED, "validate");
    world.now_ms += 60000;
    if (way == PROMOTED) {
        world_ended(&world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
        world_judged(&world, "validate", GATE_PASSED);
    } else {
        world_requeues(&world, "validate", 1000);
        world.now_ms += 2000;
    }
    if (way == REQUEUED)
        world_seen(&world, "validate", "running", false);
    const char *phase = way == PROMOTED ? "production" : "validate";
    assert_true(world_phase(&world, phase)->run->in_place);
    world.now_ms += 30000;
    world_seen(&world, phase, job_state, true);
    world_wait(&world, OUTCOME_GRACE_MS);
    (void)snprintf(allocation->nodes, NODES_MAX, "n2");
    world_event(&world, EV_RUN_SILENT, phase);
    bool is_blamed = strstr(world_trace(&world), "blame n2 for ") != NULL;
    assert_int_equal(world_phase(&world, phase)->state, PHASE_QUEUED); /* it runs again */
    world_fini(&world);
    return is_blamed;
}

static void a_node_is_not_blamed_for_a_lead_that_heard_of_no_next_run(void **state)
{
    (void)state;
    assert_false(is_blamed_in_place(PROMOTED, "completed"));
    assert_false(is_blamed_in_place(PROMOTED, "failed"));
    assert_true(is_blamed_in_place(PROMOTED, "node_fail"));
    assert_true(is_blamed_in_place(REQUEUED, "failed"));
    assert_false(is_blamed_in_place(REQUEUED, "completed"));
    assert_false(is_blamed_in_place(NOT_REQUEUED, "completed"));
    assert_true(is_blamed_in_place(NOT_REQUEUED, "node_fail"));
}

/* The lead died after its nodes had finished, so the training does not run once more. */
static void a_run_whose_journals_prove_its_success_is_not_lost(void **state)
{
    static const char *const words[] = {"failed", "completed", "node_fail", "timeout", "cancelled"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct world world;
        world_init(&world);
        world_begin(&world, false);
        world_runs(&world, "validate");
        world_seen(&world, "validate", words[i], true);
        world_wait(&world, OUTCOME_GRACE_MS);
        world_step(&world, (struct core_event){.kind = EV_RUN_SILENT,
                                               .run = world_phase(&world, "validate")->run,
                                               .outcome = OUTCOME_SUCCEEDED});
        assert_int_equal(world_phase(&world, "validate")->state, PHASE_DECIDING);
        world_fini(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_takes_a_run_down_is_blamed),
        cmocka_unit_test(all_nodes_that_failed_their_preflight_are_blamed),
        cmocka_unit_test(failed_preflights_count_in_a_row),
        cmocka_unit_test(the_only_node_of_a_silent_job_is_blamed),
        cmocka_unit_test(a_node_is_not_blamed_for_a_lead_that_heard_of_no_next_run),
        cmocka_unit_test(a_run_whose_journals_prove_its_success_is_not_lost),
    };
    return cmocka_run_group_tests_name("core nodes", tests, NULL, NULL);
}
