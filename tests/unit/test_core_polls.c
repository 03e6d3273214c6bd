/* What the polls of Slurm say of jobs: which answers are news, what a controller has forgotten, and
 * jobs that Slurm holds. */
#include "tests/unit/core_world.h"
#include "tests/unit/unit.h"

#include <string.h>

/* What Slurm says of the newest job of the phase. */
static struct core_event world_answer(const struct world *world, enum cluster_job_state state)
{
    const struct run *run = world->workflow->phases[0].run;
    struct core_event event = {
        .kind = EV_JOB_SEEN, .now_ms = world->now_ms, .allocation = run->seat->allocation};
    event.seen.state = state;
    return event;
}

/* The controller has forgotten the start. Its answers are equal, and the run ends between them. */
static void a_job_that_waits_already_before_the_end_of_its_last_run_is_cancelled(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    struct core_event waits = world_answer(world, CLUSTER_JOB_PENDING);
    world_step(world, waits);
    world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, -1);
    (void)world_trace(world);
    assert_true(core_job_is_news(&waits));
    world_step(world, waits);
    assert_string_equal(world_trace(world), "cancel-job validate#1\n");
    assert_false(core_job_is_news(&waits));
}

/* Each answer that counts as news is written to the disk. */
static void a_text_that_is_too_long_is_news_once(void **state)
{
    struct world *world = *state;
    char nodes[2 * NODES_MAX], reason[2 * REASON_MAX];
    memset(nodes, 'n', sizeof nodes);
    memset(reason, 'r', sizeof reason);
    nodes[sizeof nodes - 1] = reason[sizeof reason - 1] = '\0';
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    struct core_event answer = world_answer(world, CLUSTER_JOB_PENDING);
    answer.seen.nodes = nodes;
    answer.seen.reason = reason;
    assert_true(core_job_is_news(&answer));
    world_step(world, answer);
    assert_false(core_job_is_news(&answer));
    world_step(world, answer);
    assert_int_equal(world->effects.count, 0);
    nodes[0] = 'x';
    assert_true(core_job_is_news(&answer));
}

/* The answers are equal, and each one shows that Slurm still has the job. */
static void a_job_that_runs_after_its_last_run_is_news_each_time(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    struct core_event runs = world_answer(world, CLUSTER_JOB_RUNNING);
    world_step(world, runs);
    assert_false(core_job_is_news(&runs));
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "validate", GATE_FAILED);
    for (int i = 0; i < 2; i++) {
        assert_true(core_job_is_news(&runs));
        world_step(world, runs);
    }
}

/* A controller that is killed forgets what it did in its last seconds. */
static void a_cancellation_that_slurm_has_forgotten_is_repeated(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    (void)world_trace(world);
    world_command(world, "validate", COMMAND_CANCEL);
    world_step(world, world_answer(world, CLUSTER_JOB_PENDING));
    assert_string_equal(world_trace(world), "cancel-job validate#1\n");
    for (int i = 0; i < 2; i++) {
        world->now_ms += 9999;
        struct core_event answer = world_answer(world, CLUSTER_JOB_PENDING);
        assert_false(core_job_is_news(&answer)); /* Slurm may not have cancelled it yet */
        world_step(world, answer);
        assert_string_equal(world_trace(world), "");
        world->now_ms += 1;
        answer = world_answer(world, CLUSTER_JOB_PENDING);
        assert_true(core_job_is_news(&answer));
        world_step(world, answer);
        assert_string_equal(world_trace(world), "cancel-job validate#1\n");
    }
    world->now_ms += 10000;
    struct core_event ends = world_answer(world, CLUSTER_JOB_CANCELLED);
    ends.seen.is_completing = true;
    world_step(world, ends);
    assert_string_equal(world_trace(world), "");
}

/* A new daemon carries out all that the outbox holds. */
static void a_cancellation_from_the_outbox_gets_its_time_too(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    struct allocation *allocation = world_phase(world, "validate")->run->seat->allocation;
    world_command(world, "validate", COMMAND_CANCEL);
    (void)world_trace(world);
    allocation->closed_ms = 0; /* as after a start */
    world_step(world, world_answer(world, CLUSTER_JOB_PENDING));
    assert_string_equal(world_trace(world), "");
    world->now_ms += 10000;
    world_step(world, world_answer(world, CLUSTER_JOB_PENDING));
    assert_string_equal(world_trace(world), "cancel-job validate#1\n");
}

/* The first job is requeued while the daemon is away, and Slurm holds it. */
static void world_stuck(struct world *world)
{
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    struct core_event held = {.kind = EV_JOB_SEEN,
                              .allocation = world_phase(world, "validate")->run->seat->allocation};
    held.seen.state = CLUSTER_JOB_PENDING;
    held.seen.restarts = 1;
    held.seen.is_stuck = true;
    world_step(world, held);
    (void)world_trace(world);
}

static void a_job_that_slurm_holds_may_have_served_its_run(void **state)
{
    struct world *world = *state;
    world_stuck(world);
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    assert_string_equal(world_trace(world), "validate#1: pending -> ended\n"
                                            "validate: queued -> deciding\n"
                                            "judge validate\n");
}

static void no_run_goes_on_in_a_job_that_slurm_holds(void **state)
{
    struct world *world = *state;
    world_stuck(world);
    world_requeues(world, "validate", 100);
    assert_string_equal(world_trace(world), "validate#1: pending -> ended\n"
                                            "tell-end validate#1\n"
                                            "submit validate#2\n");
}

/* The daemon died before it had looked into the folder. */
static void a_job_that_slurm_held_was_not_cancelled_by_a_person(void **state)
{
    struct world *world = *state;
    world_stuck(world);
    world_seen(world, "validate", "cancelled", true);
    world_wait(world, 5000);
    (void)world_trace(world);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "validate#1: pending -> ended\n"
                                            "seal validate#1\n"
                                            "submit validate#2\n");
    assert_int_equal(world->workflow->runs[0]->cause, CAUSE_LAUNCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_job_that_waits_already_before_the_end_of_its_last_run_is_cancelled),
        WORLD_TEST(a_text_that_is_too_long_is_news_once),
        WORLD_TEST(a_job_that_runs_after_its_last_run_is_news_each_time),
        WORLD_TEST(a_cancellation_that_slurm_has_forgotten_is_repeated),
        WORLD_TEST(a_cancellation_from_the_outbox_gets_its_time_too),
        WORLD_TEST(a_job_that_slurm_holds_may_have_served_its_run),
        WORLD_TEST(no_run_goes_on_in_a_job_that_slurm_holds),
        WORLD_TEST(a_job_that_slurm_held_was_not_cancelled_by_a_person),
    };
    return cmocka_run_group_tests_name("core polls", tests, NULL, NULL);
}
