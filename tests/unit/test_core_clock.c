/* What time has to do with it: clocks that are set, and how long a lost run has lasted. */
#include "tests/unit/core_world.h"
#include "tests/unit/unit.h"

/* The time in which nobody saw it is not paid for. */
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
    assert_int_equal(run->job->ended_ms, run->ended_ms);
}

/* A stop that takes too long is ended two minutes after it was told, whatever the calendar says. */
static void a_clock_that_is_set_moves_deadlines_and_what_was_told(void **state)
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
    /* A daemon that was away has not seen it set: what was told is not later than now. */
    world->now_ms -= 3600 * (int64_t)1000;
    world_step(world, (struct core_event){.kind = EV_CLOCK});
    assert_int_equal(core_deadline(world->core), world->now_ms + (90 + 30) * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_lost_run_has_lasted_until_its_job_was_first_absent),
        WORLD_TEST(a_clock_that_is_set_moves_deadlines_and_what_was_told),
    };
    return cmocka_run_group_tests_name("core clock", tests, NULL, NULL);
}
