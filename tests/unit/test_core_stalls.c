/* What happens when runs follow each other without a new step. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include <string.h>

static void three_resumptions_without_a_step_hold_the_phase(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    for (int i = 0; i < STALLED_RUNS_MAX; i++) {
        assert_int_equal(world_phase(world, "validate")->state, PHASE_QUEUED);
        world_runs(world, "validate");
        world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, -1);
    }
    assert_int_equal(world_phase(world, "validate")->hold, HOLD_PROGRESS);
}

/* Its job dies with it each time, for example with its node, and Slurm requeues the job. */
static void three_requeues_without_a_step_hold_the_phase(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    for (int i = 0; i < STALLED_RUNS_MAX; i++) {
        assert_int_equal(world_phase(world, "validate")->state, PHASE_QUEUED);
        if (i == 0)
            world_runs(world, "validate");
        else
            world_event(world, EV_RUN_STARTED, "validate");
        (void)world_trace(world);
        world_requeues(world, "validate", -1);
    }
    assert_int_equal(world_phase(world, "validate")->hold, HOLD_PROGRESS);
    assert_string_equal(world_trace(world), "validate#3: running -> ended\n"
                                            "tell-end validate#3\n"
                                            "validate: active -> held\n");
    world_seen(world, "validate", "pending", false); /* Slurm requeues the job all the same */
    assert_string_equal(world_trace(world), "cancel-job validate#3\n");
}

static void a_checkpoint_is_progress_if_the_program_prints_no_steps(void **state)
{
    (void)state;
    for (int requeues = 0; requeues < 2; requeues++) {
        struct world world;
        world_init(&world);
        world_begin(&world, false);
        struct phase *phase = world_phase(&world, "validate");
        for (int i = 1; i <= STALLED_RUNS_MAX + 1; i++) {
            assert_int_equal(phase->state, PHASE_QUEUED);
            if (i == 1 || !requeues)
                world_runs(&world, "validate");
            world_step(&world, (struct core_event){.kind = EV_CHECKPOINT,
                                                   .run = phase->run,
                                                   .path = "/out/step",
                                                   .step = 100 * i});
            if (requeues)
                world_requeues(&world, "validate", -1);
            else
                world_ended(&world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, -1);
        }
        assert_int_equal(phase->state, PHASE_QUEUED);
        assert_int_equal(phase->stalls, 0);
        world_fini(&world);
    }
}

/* It is preempted before it saves its first checkpoint, and makes the same steps again and again.
 */
static void steps_that_were_made_before_are_no_progress(void **state)
{
    static const struct {
        bool has_checkpoint;
        int64_t steps[5]; /* the last step of each run */
        unsigned count;   /* how many runs the core allows */
    } rows[] = {
        {true, {900, 900, 890, 900}, 4},
        {true, {900, 890, 910, 900, 905}, 5},
        {false, {900, 900, 890, 900, 900}, 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        unsigned count = 0;
        world_init(&world);
        struct phase *phase = world_phase(&world, "validate");
        phase->has_checkpoint = rows[i].has_checkpoint;
        world_begin(&world, false);
        for (; count < 5 && phase->state == PHASE_QUEUED; count++) {
            world_runs(&world, "validate");
            world_ended(&world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, rows[i].steps[count]);
        }
        assert_int_equal(count, rows[i].count);
        assert_int_equal(phase->hold, count < 5 ? HOLD_PROGRESS : HOLD_NONE);
        world_fini(&world);
    }
}

/* An sbatch script that prints no step is like this. Slurm would run the script again without a
 * limit, too. */
static void a_phase_of_which_nothing_can_be_seen_is_preempted_without_a_limit(void **state)
{
    static const struct {
        bool has_checkpoint;
        enum run_outcome last; /* the outcome of the last run that the core allows */
        int64_t steps[9];      /* the last step of each run; 0 ends them */
        unsigned count;        /* how many runs the core allows */
        enum phase_state becomes;
    } rows[] = {
        {false, OUTCOME_PREEMPTED, {-1, -1, -1, -1, -1, -1, -1, -1}, 8, PHASE_QUEUED},
        {true, OUTCOME_PREEMPTED, {-1, -1, -1, -1, -1, -1, -1, -1}, 3, PHASE_HELD},
        {false, OUTCOME_PREEMPTED, {-1, -1, -1, -1, -1, 20, -1, 20}, 8, PHASE_QUEUED},
        /* It had told a step, and comes to none any more. */
        {false, OUTCOME_PREEMPTED, {-1, -1, -1, -1, 20, -1, -1, -1}, 8, PHASE_HELD},
        {false, OUTCOME_PREEMPTED, {20, -1, -1, -1, -1, -1, -1, -1}, 4, PHASE_HELD},
        /* A failure and the time limit hold the phase as before. */
        {false, OUTCOME_FAILED, {-1, -1, -1, -1}, 4, PHASE_HELD},
        {false, OUTCOME_TIMED_OUT, {-1, -1, -1, -1}, 4, PHASE_HELD},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct world world;
        unsigned count = 0;
        const bool requeues = i % 2;
        const int64_t *steps = rows[i / 2].steps;
        world_init(&world);
        struct phase *phase = world_phase(&world, "validate");
        phase->has_checkpoint = rows[i / 2].has_checkpoint;
        world_begin(&world, false);
        for (; steps[count] && phase->state == PHASE_QUEUED; count++) {
            bool is_last = steps[count + 1] == 0;
            enum run_outcome outcome = is_last ? rows[i / 2].last : OUTCOME_PREEMPTED;
            if (count == 0 || !requeues)
                world_runs(&world, "validate");
            else
                world_event(&world, EV_RUN_STARTED, "validate");
            if (requeues && outcome == OUTCOME_PREEMPTED)
                world_requeues(&world, "validate", steps[count]);
            else
                world_ended(&world, "validate", outcome,
                            outcome == OUTCOME_FAILED ? CAUSE_EXIT : CAUSE_NONE, steps[count]);
        }
        assert_int_equal(count, rows[i / 2].count);
        assert_int_equal(phase->state, rows[i / 2].becomes);
        world_fini(&world);
    }
}

/* A person lets the phase begin anew. It comes farther each time, but not yet as far as before. */
static void steps_before_a_retry_do_not_count(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    struct phase *phase = world_phase(world, "validate");
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10000);
    world_judged(world, "validate", GATE_FAILED);
    world_command(world, "validate", COMMAND_RETRY);
    for (int i = 0; i < STALLED_RUNS_MAX; i++) {
        assert_int_equal(phase->state, PHASE_QUEUED);
        world_runs(world, "validate");
        world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, 600 + 100 * i);
        assert_int_equal(phase->stalls, 0);
    }
}

static void a_program_that_dies_on_resuming_is_tried_again_and_then_held(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_step(world, (struct core_event){.kind = EV_CHECKPOINT,
                                          .run = world_phase(world, "validate")->run,
                                          .path = "/out/step_500",
                                          .step = 500});
    world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, 510);
    for (int i = 0; i < STALLED_RUNS_MAX; i++) {
        assert_int_equal(world_phase(world, "validate")->state, PHASE_QUEUED);
        world_runs(world, "validate");
        world_ended(world, "validate", OUTCOME_FAILED, CAUSE_EXIT, -1);
    }
    assert_int_equal(world_phase(world, "validate")->hold, HOLD_PROGRESS);
}

static void a_phase_that_times_out_runs_again_while_it_makes_steps(void **state)
{
    (void)state;
    static const struct {
        struct {
            int64_t step, checkpoint; /* how far a run came; 0: no steps, or no checkpoint */
        } runs[5];
        unsigned count; /* how many runs the core allows */
        const char *reason;
    } rows[] = {
        {{{184, 0}, {183, 0}},
         2,
         "timed out again at step 183 without a checkpoint: submit it again with a longer time or "
         "an earlier checkpoint; retry only if the script resumes by itself"},
        {{{184, 0}, {184, 0}}, 2, "timed out again at step 184 without a checkpoint: "},
        {{{-1, 0}}, 1, "timed out before its first step, without a checkpoint: submit"},
        /* The program resumes by itself. */
        {{{184, 0}, {360, 0}, {540, 0}, {700, 0}, {880, 0}}, 5, NULL},
        {{{184, 150}, {183, 160}, {182, 170}, {181, 180}, {185, 184}}, 5, NULL},
        {{{184, 150}, {160, 0}, {170, 0}, {160, 0}},
         4,
         "3 runs in a row made no new step and saved no newer checkpoint"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        unsigned count = 0;
        world_init(&world);
        world_begin(&world, false);
        struct phase *phase = world_phase(&world, "validate");
        for (; count < 5 && phase->state == PHASE_QUEUED; count++) {
            world_runs(&world, "validate");
            if (rows[i].runs[count].checkpoint)
                world_step(&world, (struct core_event){.kind = EV_CHECKPOINT,
                                                       .run = phase->run,
                                                       .path = "/out/step",
                                                       .step = rows[i].runs[count].checkpoint});
            world_ended(&world, "validate", OUTCOME_TIMED_OUT, CAUSE_NONE,
                        rows[i].runs[count].step);
        }
        assert_int_equal(count, rows[i].count);
        assert_int_equal(phase->state, rows[i].reason ? PHASE_HELD : PHASE_QUEUED);
        if (rows[i].reason) {
            assert_int_equal(phase->hold, HOLD_PROGRESS);
            assert_non_null(strstr(phase->reason, rows[i].reason));
        }
        world_fini(&world);
    }
}

/* An sbatch script is like this: nobody knows whether it saves anything. */
static void a_phase_without_checkpoint_ends_at_its_limit_unless_it_resumes(void **state)
{
    (void)state;
    static const struct {
        struct {
            enum run_outcome outcome;
            int64_t begin, last;
        } runs[5];
        unsigned count; /* how many runs the core allows */
        const char *reason;
    } rows[] = {
        {{{OUTCOME_TIMED_OUT, 1, 184}}, 1, "timed out at step 184 without a checkpoint: "},
        {{{OUTCOME_TIMED_OUT, -1, -1}},
         1,
         "timed out before its first step, without a checkpoint: submit"},
        /* The second run came a little farther by chance. */
        {{{OUTCOME_PREEMPTED, 1, 100}, {OUTCOME_TIMED_OUT, 1, 184}},
         2,
         "timed out again at step 184 without a checkpoint: "},
        {{{OUTCOME_PREEMPTED, 1, 184}, {OUTCOME_PREEMPTED, 10, 185}, {OUTCOME_TIMED_OUT, 10, 186}},
         3,
         "timed out again at step 186 without a checkpoint"},
        /* The program prints few steps, or continues the count of another program. */
        {{{OUTCOME_PREEMPTED, 50, 100}, {OUTCOME_TIMED_OUT, 50, 650}},
         2,
         "timed out again at step 650 without a checkpoint"},
        {{{OUTCOME_PREEMPTED, 50, 50}, {OUTCOME_TIMED_OUT, 50, 650}},
         2,
         "timed out again at step 650 without a checkpoint"},
        {{{OUTCOME_PREEMPTED, 1001, 1500}, {OUTCOME_TIMED_OUT, 1001, 1600}},
         2,
         "timed out again at step 1600 without a checkpoint"},
        /* It resumes. */
        {{{OUTCOME_PREEMPTED, 1, 100}, {OUTCOME_TIMED_OUT, 51, 240}, {OUTCOME_TIMED_OUT, 200, 400}},
         3,
         NULL},
        {{{OUTCOME_PREEMPTED, 50, 100}, {OUTCOME_TIMED_OUT, 100, 650}}, 2, NULL},
        {{{OUTCOME_PREEMPTED, 1, 199}, {OUTCOME_TIMED_OUT, 101, 650}}, 2, NULL},
        /* Its groups tell shards instead of steps: 5 of 8, then 2 more. */
        {{{OUTCOME_TIMED_OUT, -1, 5}, {OUTCOME_TIMED_OUT, -1, 7}, {OUTCOME_TIMED_OUT, -1, -1}},
         3,
         "timed out before its first step, without a checkpoint: submit"},
        /* Then it stops resuming. */
        {{{OUTCOME_PREEMPTED, 1, 100}, {OUTCOME_TIMED_OUT, 51, 240}, {OUTCOME_TIMED_OUT, 1, 241}},
         3,
         "timed out again at step 241 without a checkpoint"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        unsigned count = 0;
        world_init(&world);
        world_begin(&world, false);
        struct phase *phase = world_phase(&world, "validate");
        phase->has_checkpoint = false;
        for (; rows[i].runs[count].outcome && phase->state == PHASE_QUEUED; count++) {
            world_runs(&world, "validate");
            world_step(&world, (struct core_event){.kind = EV_PROGRESS,
                                                   .run = phase->run,
                                                   .begin_step = rows[i].runs[count].begin,
                                                   .step = rows[i].runs[count].last});
            world_ended(&world, "validate", rows[i].runs[count].outcome, CAUSE_NONE,
                        rows[i].runs[count].last);
        }
        assert_int_equal(count, rows[i].count);
        assert_int_equal(phase->state, rows[i].reason ? PHASE_HELD : PHASE_QUEUED);
        if (rows[i].reason) {
            assert_int_equal(phase->hold, HOLD_PROGRESS);
            assert_non_null(strstr(phase->reason, rows[i].reason));
        }
        world_fini(&world);
    }
}

/* The worker of a run sees that the next checkpoint does not fit. */
static void a_worker_may_want_its_phase_held(void **state)
{
    (void)state;
    static const struct {
        bool is_cancelled; /* a person cancels the run first */
        enum run_outcome outcome;
        enum phase_state becomes;
    } rows[] = {
        {false, OUTCOME_CANCELLED, PHASE_HELD},
        {false, OUTCOME_SUCCEEDED, PHASE_DECIDING}, /* the program ended at that moment */
        {true, OUTCOME_CANCELLED, PHASE_CANCELLED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        world_init(&world);
        world_begin(&world, false);
        world_runs(&world, "validate");
        struct phase *phase = world_phase(&world, "validate");
        if (rows[i].is_cancelled)
            world_command(&world, "validate", COMMAND_CANCEL);
        world_step(&world, (struct core_event){.kind = EV_RUN_STOPPING,
                                               .run = phase->run,
                                               .message = "held: no room",
                                               .hold_reason = "no room"});
        world_ended(&world, "validate", rows[i].outcome, CAUSE_NONE, 10);
        assert_int_equal(phase->state, rows[i].becomes);
        if (rows[i].becomes == PHASE_HELD) {
            assert_int_equal(phase->hold, HOLD_USER);
            assert_string_equal(phase->reason, "no room");
            world_command(&world, "validate", COMMAND_RELEASE);
            assert_int_equal(phase->state, PHASE_QUEUED);
        }
        world_fini(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(three_resumptions_without_a_step_hold_the_phase),
        WORLD_TEST(three_requeues_without_a_step_hold_the_phase),
        cmocka_unit_test(a_checkpoint_is_progress_if_the_program_prints_no_steps),
        cmocka_unit_test(steps_that_were_made_before_are_no_progress),
        cmocka_unit_test(a_phase_of_which_nothing_can_be_seen_is_preempted_without_a_limit),
        WORLD_TEST(steps_before_a_retry_do_not_count),
        WORLD_TEST(a_program_that_dies_on_resuming_is_tried_again_and_then_held),
        cmocka_unit_test(a_phase_that_times_out_runs_again_while_it_makes_steps),
        cmocka_unit_test(a_phase_without_checkpoint_ends_at_its_limit_unless_it_resumes),
        cmocka_unit_test(a_worker_may_want_its_phase_held),
    };
    return cmocka_run_group_tests_name("core stalls", tests, NULL, NULL);
}
