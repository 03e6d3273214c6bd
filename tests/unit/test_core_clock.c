/* Times: clocks that are set, and how long a lost run has lasted. */
#include "tests/unit/core_world.h"
#include "tests/unit/unit.h"

/* Nobody pays for the time in which nobody saw the run. */
static void a_lost_run_has_lasted_until_its_job_was_first_absent(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    struct run *run = world_phase(world, "validate")->run;
    world->now_ms += 26 * 1000;
    int64_t last_ms = world->now_ms;
    for (int i = 0; i < 31; i++) {
        world_event(world, EV_JOB_ABSENT, "validate");
        world->now_ms += 10 * 1000;
    }
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(run->outcome, OUTCOME_LOST);
    assert_int_equal(run->ended_ms, last_ms);
    assert_int_equal(run->seat->allocation->ended_ms, run->ended_ms);
}

static void is_over(struct world *world, int64_t ended_ms)
{
    struct core_event over = {.kind = EV_JOB_SEEN,
                              .allocation = world_phase(world, "validate")->run->seat->allocation};
    over.seen.state = CLUSTER_JOB_FAILED;
    over.seen.is_final = true;
    over.seen.ended_ms = ended_ms;
    world_step(world, over);
}

/* The same holds for the time in which the daemon was away, if Slurm knows when the job ended. The
 * daemon looks for an outcome for a while after it has learnt of the end. */
static void slurm_says_how_long_an_unseen_job_has_lasted(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    const struct run *run = world_phase(world, "validate")->run;
    int64_t ended_ms = world->now_ms + 26 * 1000;
    world->now_ms += 8 * 3600 * (int64_t)1000;
    is_over(world, ended_ms);
    assert_int_equal(run->seat->allocation->ended_ms, ended_ms);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(run->state, RUN_RUNNING);
    world->now_ms += 5 * 1000;
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(run->outcome, OUTCOME_LOST);
    assert_int_equal(run->ended_ms, ended_ms);
}

static bool has_effect(const struct world *world, enum core_effect_kind kind)
{
    for (size_t i = 0; i < world->effects.count; i++)
        if (world->effects.items[i].kind == kind && !world->effects.items[i].is_done)
            return true;
    return false;
}

/* If the daemon dies before the run has ended, the record must say that the run is silent. */
static void the_time_of_silence_is_saved_with_the_end_of_the_job(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    const struct run *run = world_phase(world, "validate")->run;
    is_over(world, world->now_ms);
    assert_int_equal(run->silent_since_ms, world->now_ms);
    assert_true(has_effect(world, FX_SAVE_RUN));
}

/* The clock of the controller may differ from that of the daemon. */
static void a_job_never_ends_before_it_has_started_or_later_than_now(void **state)
{
    static const int64_t hours[] = {-1, 1};
    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
        struct world world;
        world_init(&world);
        world_begin(&world, false);
        world_runs(&world, "validate");
        const struct allocation *allocation =
            world_phase(&world, "validate")->run->seat->allocation;
        world.now_ms += 60 * 1000;
        is_over(&world, world.now_ms + hours[i] * 3600 * 1000);
        assert_int_equal(allocation->ended_ms,
                         hours[i] < 0 ? allocation->started_ms : world.now_ms);
        world_fini(&world);
    }
    (void)state;
}

/* The clocks of the controller and of the nodes may differ from the daemon's clock, also because
 * the daemon's clock was set. */
static void a_run_lasts_as_long_as_it_did_whatever_other_clocks_say(void **state)
{
    static const int64_t ahead_ms[] = {0, 60 * 1000, -60 * 1000, -96 * 3600 * (int64_t)1000};
    (void)state;
    for (size_t i = 0; i < sizeof ahead_ms / sizeof *ahead_ms; i++) {
        struct world world;
        world_init(&world);
        world.now_ms = 1790000000000;
        world_begin(&world, false);
        world_event(&world, EV_SUBMITTED, "validate");
        world.now_ms += 5000;
        struct run *run = world_phase(&world, "validate")->run;
        int64_t started_ms = world.now_ms;
        struct allocation *allocation = run->seat->allocation;
        struct core_event seen = {.kind = EV_JOB_SEEN, .allocation = allocation};
        seen.seen.state = CLUSTER_JOB_RUNNING;
        seen.seen.started_ms = started_ms + ahead_ms[i];
        world_step(&world, seen);
        world_step(&world, (struct core_event){.kind = EV_RUN_STARTED,
                                               .run = run,
                                               .started_ms = started_ms + ahead_ms[i]});
        assert_int_equal(allocation->started_ms, started_ms);
        assert_int_equal(run->started_ms, started_ms);
        world.now_ms += 100 * 1000;
        world_step(&world, (struct core_event){.kind = EV_RUN_ENDED,
                                               .run = run,
                                               .outcome = OUTCOME_SUCCEEDED,
                                               .started_ms = started_ms + ahead_ms[i],
                                               .ended_ms = world.now_ms + ahead_ms[i]});
        assert_int_equal(run->started_ms, started_ms);
        assert_int_equal(run->ended_ms, world.now_ms);
        seen.seen.state = CLUSTER_JOB_COMPLETED;
        seen.seen.is_final = true;
        seen.seen.ended_ms = world.now_ms + ahead_ms[i];
        world_step(&world, seen);
        assert_int_equal(allocation->started_ms, started_ms);
        assert_int_equal(allocation->ended_ms, world.now_ms);
        world_fini(&world);
    }
}

/* Slurm tells a start that cannot be true, and the lead one that can: both clocks are behind. */
static void a_run_never_begins_before_its_job(void **state)
{
    struct world *world = *state;
    world->now_ms = 1790000000000;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    struct run *run = world_phase(world, "validate")->run;
    int64_t submitted_ms = run->submitted_ms;
    struct core_event seen = {.kind = EV_JOB_SEEN, .allocation = run->seat->allocation};
    seen.seen.state = CLUSTER_JOB_RUNNING;
    seen.seen.started_ms = submitted_ms - 2500;
    world->now_ms = submitted_ms + 2000;
    world_step(world, seen);
    world->now_ms = submitted_ms + 4000;
    world_step(world, (struct core_event){
                          .kind = EV_RUN_STARTED, .run = run, .started_ms = submitted_ms + 1000});
    assert_int_equal(run->started_ms, submitted_ms + 1000);
    assert_int_equal(run->seat->allocation->started_ms, submitted_ms + 1000);
}

/* The job was requeued while nobody looked, so Slurm tells the start of its second life. */
static void the_end_of_a_requeued_job_is_not_moved(void **state)
{
    struct world *world = *state;
    world->now_ms = 1790000000000;
    world_begin(world, false);
    world_runs(world, "validate");
    const struct allocation *allocation = world_phase(world, "validate")->run->seat->allocation;
    struct core_event seen = {.kind = EV_JOB_SEEN, .allocation = (struct allocation *)allocation};
    seen.seen.state = CLUSTER_JOB_FAILED;
    seen.seen.is_final = true;
    seen.seen.restarts = 1;
    seen.seen.started_ms = world->now_ms + 7200 * 1000;
    seen.seen.ended_ms = world->now_ms + 10000 * 1000;
    world->now_ms += 20000 * 1000;
    world_step(world, seen);
    assert_int_equal(allocation->ended_ms, seen.seen.ended_ms);
}

/* A lead may begin the next run of its job while the daemon is away. */
static void a_run_may_begin_before_the_daemon_knows_it(void **state)
{
    struct world *world = *state;
    world->now_ms = 1790000000000;
    world_begin(world, false);
    world_runs(world, "validate");
    world_requeues(world, "validate", 10);
    int64_t ended_ms = world->now_ms;
    world->now_ms += 3600 * 1000;
    world_step(world, (struct core_event){.kind = EV_RUN_STARTED,
                                          .run = world_phase(world, "validate")->run,
                                          .started_ms = ended_ms + 2000});
    assert_int_equal(world_phase(world, "validate")->run->started_ms, ended_ms + 2000);
}

/* A stop that takes too long is ended two minutes after the command, whatever the clock says. */
static void setting_the_clock_moves_deadlines_and_reported_times(void **state)
{
    struct world *world = *state;
    static const int64_t hours[] = {-1, 1, -96, 96};
    world->now_ms = 1790000000000;
    world_begin(world, false);
    world_runs(world, "validate");
    world_command(world, "validate", COMMAND_CANCEL);
    (void)world_trace(world);
    const struct run *run = world_phase(world, "validate")->run;
    int64_t lasts_ms = world->now_ms - run->started_ms;
    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
        struct core_event set = {.kind = EV_CLOCK, .step = hours[i] * 3600 * 1000};
        world->now_ms += set.step;
        world_step(world, set);
        assert_int_equal(core_deadline(world->core), world->now_ms + (90 + 30) * 1000);
        assert_int_equal(world->now_ms - run->started_ms, lasts_ms);
    }
    world_wait(world, (90 + 30) * 1000 - 1);
    assert_string_equal(world_trace(world), "");
    world_wait(world, 1);
    assert_string_equal(world_trace(world), "cancel-job validate#1\n");
    /* A daemon that was away does not know that the clock was set: no reported time is later than
     * now. */
    world->now_ms -= 3600 * (int64_t)1000;
    world_step(world, (struct core_event){.kind = EV_CLOCK});
    assert_int_equal(core_deadline(world->core), world->now_ms + (90 + 30) * 1000);
}

/* The record of ended runs is history: their checkpoints and samples keep their times, too. */
static void setting_the_clock_does_not_change_ended_runs(void **state)
{
    struct world *world = *state;
    world->now_ms = 1790000000000;
    world_begin(world, false);
    world_runs(world, "validate");
    struct run before = *world_phase(world, "validate")->run;
    world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, 10);
    world_seen(world, "validate", "running", false);
    world_wait(world, 60 * 1000);
    struct core_event gone = {.kind = EV_JOB_SEEN, .allocation = before.seat->allocation};
    gone.seen.state = CLUSTER_JOB_COMPLETED;
    gone.seen.is_final = true;
    world_step(world, gone);
    world_runs(world, "validate");
    const struct run *ended = world->workflow->runs[0], *run = world_phase(world, "validate")->run;
    struct run ended_before = *ended, run_before = *run;
    struct allocation job_before = *ended->seat->allocation;
    assert_ptr_not_equal(run->seat->allocation, ended->seat->allocation);
    struct core_event set = {.kind = EV_CLOCK, .step = -3600 * 1000};
    world->now_ms += set.step;
    world_step(world, set);
    assert_int_equal(run->started_ms, run_before.started_ms + set.step);
    assert_int_equal(ended->submitted_ms, ended_before.submitted_ms);
    assert_int_equal(ended->started_ms, ended_before.started_ms);
    assert_int_equal(ended->ended_ms, ended_before.ended_ms);
    assert_int_equal(ended->seat->allocation->started_ms, job_before.started_ms);
    assert_int_equal(ended->seat->allocation->ended_ms, job_before.ended_ms);
}

/* A run that keeps its allocation waits. How long it may wait does not depend on the clock. */
static void setting_the_clock_moves_a_run_that_keeps_its_allocation(void **state)
{
    struct world *world = *state;
    world->now_ms = 1790000000000;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    struct core_event set = {.kind = EV_CLOCK, .step = 3600 * 1000};
    world->now_ms += set.step;
    world_step(world, set);
    world_judged(world, "validate", GATE_PASSED);
    const struct run *validate = world_phase(world, "validate")->run;
    const struct run *production = world_phase(world, "production")->run;
    assert_ptr_equal(production->seat, validate->seat);
    world_runs(world, "production");
    int64_t ended_ms = validate->ended_ms, told_ms = production->told_ms;
    world->now_ms += set.step; /* it does not keep the allocation any longer */
    world_step(world, set);
    assert_int_equal(validate->ended_ms, ended_ms);
    assert_int_equal(production->told_ms, told_ms + set.step);
    /* Costs know by this which runs were in the same life of the job. */
    assert_int_equal(validate->job_started_ms, validate->seat->allocation->started_ms);
    assert_int_equal(production->job_started_ms, validate->seat->allocation->started_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_lost_run_has_lasted_until_its_job_was_first_absent),
        WORLD_TEST(slurm_says_how_long_an_unseen_job_has_lasted),
        WORLD_TEST(the_time_of_silence_is_saved_with_the_end_of_the_job),
        cmocka_unit_test(a_job_never_ends_before_it_has_started_or_later_than_now),
        cmocka_unit_test(a_run_lasts_as_long_as_it_did_whatever_other_clocks_say),
        WORLD_TEST(a_run_never_begins_before_its_job),
        WORLD_TEST(the_end_of_a_requeued_job_is_not_moved),
        WORLD_TEST(a_run_may_begin_before_the_daemon_knows_it),
        WORLD_TEST(setting_the_clock_moves_deadlines_and_reported_times),
        WORLD_TEST(setting_the_clock_does_not_change_ended_runs),
        WORLD_TEST(setting_the_clock_moves_a_run_that_keeps_its_allocation),
    };
    return cmocka_run_group_tests_name("core clock", tests, NULL, NULL);
}
