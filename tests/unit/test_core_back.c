/* Jobs that Slurm has again after they were over, and runs that end without a report of their
 * worker. */
#include "tests/unit/core_world.h"
#include "tests/unit/unit.h"

#include <string.h>

/* A controller that is restored from an older state starts jobs again that had ended. */
static void a_job_that_comes_back_is_cancelled_each_time(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    world_seen(world, "validate", "cancelled", true);
    world_wait(world, 5000);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(world_phase(world, "validate")->state, PHASE_HELD);
    struct allocation *allocation = world_phase(world, "validate")->run->seat->allocation;
    (void)world_trace(world);
    for (int i = 0; i < 2; i++) {
        struct core_event back = {.kind = EV_JOB_SEEN, .allocation = allocation, .slurm_id = 77};
        back.seen.state = CLUSTER_JOB_PENDING;
        world_step(world, back);
        assert_string_equal(world_trace(world), "warning validate#1\n"
                                                "cancel-job validate#1\n");
        assert_int_equal(allocation->slurm_id, 77);
        assert_true(core_is_busy(world->core, world->now_ms)); /* until the job is gone */
        world_step(world, back);
        assert_string_equal(world_trace(world), "cancel-job validate#1\n");
        if (i == 0)
            world_seen(world, "validate", "cancelled", true);
        else
            world_event(world, EV_JOB_ABSENT, "validate");
        assert_false(core_is_busy(world->core, world->now_ms + 300 * 1000));
    }
    assert_true(allocation->ended);
    world_command(world, "validate", COMMAND_RETRY);
    assert_ptr_not_equal(world_phase(world, "validate")->run->seat->allocation, allocation);
}

static bool world_saves_job(const struct world *world)
{
    for (size_t i = 0; i < world->effects.count; i++)
        if (world->effects.items[i].kind == FX_SAVE_JOB)
            return true;
    return false;
}

/* Two jobs may have the same token. */
static void the_id_of_another_job_that_comes_back_is_recorded(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    world_seen(world, "validate", "cancelled", true);
    world_wait(world, 5000);
    world_event(world, EV_RUN_SILENT, "validate");
    struct core_event back = {.kind = EV_JOB_SEEN,
                              .allocation = world_phase(world, "validate")->run->seat->allocation,
                              .slurm_id = 77};
    back.seen.state = CLUSTER_JOB_PENDING;
    world_step(world, back);
    assert_true(world_saves_job(world));
    world_step(world, back);
    assert_false(world_saves_job(world));
    back.slurm_id = 78;
    world_step(world, back);
    assert_true(world_saves_job(world));
}

static void a_job_that_comes_back_before_its_run_has_ended_goes_on(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    world_seen(world, "validate", "cancelled", true);
    (void)world_trace(world);
    world_seen(world, "validate", "pending", false);
    world_wait(world, 5000);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "warning validate#1\n");
    assert_false(world_phase(world, "validate")->run->seat->allocation->ended);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    assert_int_equal(world_phase(world, "validate")->state, PHASE_DECIDING);
}

/* Slurm cancelled the job and forgot it. The decision of the person still counts. */
static void a_job_that_comes_back_to_a_stopping_run_is_cancelled_again(void **state)
{
    static const enum phase_command commands[] = {COMMAND_CANCEL, COMMAND_HOLD};
    static const enum phase_state ends[] = {PHASE_CANCELLED, PHASE_HELD};
    for (size_t i = 0; i < 2; i++) {
        struct world *world = *state;
        if (i > 0) {
            world_fini(world);
            world_init(world);
        }
        world_begin(world, false);
        world_event(world, EV_SUBMITTED, "validate");
        (void)world_trace(world);
        world_command(world, "validate", commands[i]);
        assert_string_equal(world_trace(world), "cancel-job validate#1\n");
        world_seen(world, "validate", "cancelled", true);
        (void)world_trace(world);
        world_seen(world, "validate", "pending", false);
        assert_string_equal(world_trace(world), "warning validate#1\ncancel-job validate#1\n");
        world_event(world, EV_RUN_SILENT, "validate"); /* the answer to the earlier question */
        world_seen(world, "validate", "cancelled", true);
        world_event(world, EV_RUN_SILENT, "validate");
        assert_int_equal(world_phase(world, "validate")->run->outcome, OUTCOME_CANCELLED);
        assert_int_equal(world_phase(world, "validate")->state, ends[i]);
    }
}

static void a_job_that_comes_back_to_a_run_that_must_stop_is_cancelled_in_time(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_command(world, "validate", COMMAND_CANCEL);
    world_seen(world, "validate", "node_fail", true);
    world_seen(world, "validate", "pending", false);
    (void)world_trace(world);
    world_wait(world, (90 + 30) * 1000);
    assert_string_equal(world_trace(world), "cancel-job validate#1\n");
}

static void a_run_whose_worker_reported_its_end_needs_no_tombstone(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_EXIT, 10);
    assert_null(strstr(world_trace(world), "seal"));
}

/* Slurm shows the job as running for so long, and is asked every 20 s. */
static void world_stays(struct world *world, const char *phase, unsigned seconds)
{
    for (unsigned passed = 0; passed < seconds; passed += 20) {
        world_wait(world, 20 * 1000);
        world_seen(world, phase, "running", false);
    }
}

/* If a batch step is killed, nobody reports its end: Slurm shows the job as running until the node
 * registers again, or until its time is over. */
static void a_job_that_goes_on_after_its_last_run_is_cancelled(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_seen(world, "validate", "running", false);
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "validate", GATE_PASSED);
    world_runs(world, "production"); /* in place: the job has another run */
    world_stays(world, "production", 3600);
    assert_string_equal(world_trace(world), "");
    world_ended(world, "production", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "production", GATE_PASSED);
    (void)world_trace(world);
    world_seen(world, "production", "running", false); /* the time until the cancellation begins */
    world_stays(world, "production", 20 + 100);        /* more than the linger time */
    assert_string_equal(world_trace(world), "");
    world_stays(world, "production", 20);
    assert_string_equal(world_trace(world), "warning production#1\ncancel-job production#1\n");
    world_stays(world, "production", 20); /* it had no effect */
    assert_string_equal(world_trace(world), "cancel-job production#1\n");
    world_seen(world, "production", "cancelled", true);
    assert_true(core_deadline(world->core) == INT64_MAX);
}

/* The answer from before is no news. The first answers of a controller that was away may be old,
 * too. */
static void a_job_is_not_cancelled_while_slurm_does_not_answer(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_seen(world, "validate", "running", false);
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "validate", GATE_FAILED);
    world_stays(world, "validate", 100);
    (void)world_trace(world);
    assert_true(core_deadline(world->core) == INT64_MAX);
    world_wait(world, 3600 * 1000);
    assert_string_equal(world_trace(world), "");
    world_seen(world, "validate", "running", false);
    world_stays(world, "validate", 120);
    assert_string_equal(world_trace(world), "");
    world_seen(world, "validate", "completed", true);
    assert_null(strstr(world_trace(world), "cancel-job"));
}

static void a_job_with_a_second_phase_is_not_cancelled_for_its_first(void **state)
{
    struct world *world = *state;
    world->workflow->phases[1].after_count = 0;
    world->workflow->phases[1].beside = &world->workflow->phases[0];
    world_begin(world, false);
    world_runs(world, "validate");
    world_seen(world, "validate", "running", false);
    world_event(world, EV_RUN_STARTED, "production");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "validate", GATE_PASSED);
    world_stays(world, "validate", 3600);
    assert_null(strstr(world_trace(world), "cancel-job"));
    world_ended(world, "production", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "production", GATE_PASSED);
    (void)world_trace(world);
    world_stays(world, "validate", 20 + 20 + 120);
    assert_string_equal(world_trace(world), "warning validate#1\ncancel-job validate#1\n");
}

static void world_requeued(struct world *world, const char *phase)
{
    struct core_event pending = {.kind = EV_JOB_SEEN,
                                 .allocation = world_phase(world, phase)->run->seat->allocation};
    pending.seen.state = CLUSTER_JOB_PENDING;
    pending.seen.restarts = 1;
    world_step(world, pending);
}

/* Slurm may hold such a job, and would otherwise start it without a use. */
static void a_job_that_is_requeued_after_its_last_run_is_cancelled(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, "validate", GATE_FAILED);
    (void)world_trace(world);
    world_requeued(world, "validate");
    assert_string_equal(world_trace(world), "cancel-job validate#1\n");
    world_requeued(world, "validate");
    assert_string_equal(world_trace(world), ""); /* the first cancel-job stays */
}

static void a_requeued_job_waits_for_the_verdict_on_its_run(void **state)
{
    static const struct {
        enum gate_result gate;
        const char *effects;
    } rows[] = {
        {GATE_FAILED, "tell-end validate#1\n"
                      "validate: deciding -> held\n"
                      "cancel-job validate#1\n"},
        {GATE_PASSED, "validate: deciding -> succeeded\n"
                      "production: blocked -> queued\n"
                      "submit production#1\n"
                      "promotion of validate by its gate\n"
                      "tell-end validate#1\n"
                      "cancel-job validate#1\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *world = *state;
        if (i > 0) {
            world_fini(world);
            world_init(world);
        }
        world_begin(world, false);
        world_runs(world, "validate");
        world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
        (void)world_trace(world);
        world_requeued(world, "validate");
        assert_string_equal(world_trace(world), "");
        world_judged(world, "validate", rows[i].gate);
        assert_string_equal(world_trace(world), rows[i].effects);
    }
}

static void a_requeued_job_that_has_started_again_ends_by_itself(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_requeued(world, "validate");
    world_seen(world, "validate", "running", false);
    (void)world_trace(world);
    world_judged(world, "validate", GATE_FAILED);
    assert_string_equal(world_trace(world), "tell-end validate#1\n"
                                            "validate: deciding -> held\n");
}

/* An answer of Slurm from before the requeue still says that the job runs. */
static void a_run_whose_job_waits_again_is_pending(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_requeues(world, "validate", 100);
    world_seen(world, "validate", "running", false);
    (void)world_trace(world);
    world_requeued(world, "validate");
    assert_string_equal(world_trace(world), "read-outcome validate#2\n"
                                            "validate#2: starting -> pending\n"
                                            "validate: active -> queued\n");
    assert_string_equal(world_phase(world, "validate")->reason, "preempted");
    world_seen(world, "validate", "running", false);
    assert_string_equal(world_trace(world), "validate#2: pending -> starting\n"
                                            "validate: queued -> active\n");
}

/* A controller that was killed has forgotten that the job runs, and starts it again. The node still
 * has the old life of the job, so the launch fails. */
static void a_requeued_job_that_slurm_holds_gives_its_phase_a_new_job(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_CANCELLED, CAUSE_NONE, -1);
    struct phase *phase = world_phase(world, "validate");
    struct core_event held = {.kind = EV_JOB_SEEN, .allocation = phase->run->seat->allocation};
    assert_int_equal(phase->state, PHASE_HELD);
    held.seen.state = CLUSTER_JOB_PENDING;
    held.seen.restarts = 1;
    held.seen.is_stuck = true;
    (void)world_trace(world);
    world_step(world, held);
    assert_string_equal(world_trace(world), "cancel-job validate#1\n"
                                            "tell-end validate#1\n"
                                            "validate: held -> queued\n"
                                            "submit validate#2\n");
    assert_ptr_not_equal(phase->run->seat->allocation, held.allocation);
}

/* The lead of a phase with `on_fail: fail` tells that its job was cancelled. */
static void world_looks_cancelled(struct world *world)
{
    world->workflow->phases[0].fail_finally = true;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_CANCELLED, CAUSE_NONE, 100);
}

/* While Slurm requeues a job, the job looks cancelled for a moment. A final failure also ends the
 * phases after it, so it waits until the job is over. */
static void a_job_that_looked_cancelled_goes_on_also_with_on_fail_fail(void **state)
{
    struct world *world = *state;
    world_looks_cancelled(world);
    (void)world_trace(world);
    world_requeued(world, "validate");
    assert_string_equal(world_trace(world), "validate: held -> queued\n"
                                            "tell-next validate#2\n");
}

static void a_cancelled_job_fails_its_phase_finally_when_it_is_over(void **state)
{
    struct world *world = *state;
    world_looks_cancelled(world);
    (void)world_trace(world);
    world_seen(world, "validate", "cancelled", true);
    assert_string_equal(world_trace(world), "validate: held -> failed\n"
                                            "production: blocked -> skipped\n");
    assert_string_equal(world_phase(world, "validate")->reason,
                        "the job was cancelled in Slurm, and not by phased");
}

static void a_person_retries_a_phase_before_its_cancelled_job_is_over(void **state)
{
    struct world *world = *state;
    world_looks_cancelled(world);
    struct core_event over = {.kind = EV_JOB_SEEN,
                              .allocation = world_phase(world, "validate")->run->seat->allocation};
    over.seen.state = CLUSTER_JOB_CANCELLED;
    over.seen.is_final = true;
    world_command(world, "validate", COMMAND_RETRY);
    (void)world_trace(world);
    world_step(world, over);
    assert_string_equal(world_trace(world), "");
}

/* The same job before it is started again: its worker has said that it is over. */
static void a_job_that_waits_after_its_last_run_is_cancelled(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, -1);
    struct phase *phase = world_phase(world, "validate");
    struct allocation *first = world->workflow->runs[0]->seat->allocation;
    assert_ptr_not_equal(phase->run->seat->allocation, first);
    (void)world_trace(world);
    struct core_event waits = {.kind = EV_JOB_SEEN, .allocation = first};
    waits.seen.state = CLUSTER_JOB_PENDING;
    world_step(world, waits);
    assert_string_equal(world_trace(world), "cancel-job validate#1\n");
}

static void world_restarted(struct world *world, enum cluster_job_state state, int64_t started_ms)
{
    struct core_event event = {.kind = EV_JOB_SEEN,
                               .allocation = world_phase(world, "validate")->run->seat->allocation};
    event.seen.state = state;
    event.seen.restarts = 1;
    event.seen.started_ms = started_ms;
    world_step(world, event);
}

static void a_run_counts_as_over_since_the_requeue_of_its_job(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    struct run *run = world_phase(world, "validate")->run;
    int64_t requeued_ms = world->now_ms += 60 * 1000;
    world_restarted(world, CLUSTER_JOB_PENDING, 0);
    assert_string_equal(world_trace(world), "read-outcome validate#1\n");
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(run->state, RUN_RUNNING);
    assert_int_equal(run->ended_ms, requeued_ms);
    assert_false(core_is_busy(world->core, world->now_ms));
    world->now_ms += 3600 * 1000;
    world_restarted(world, CLUSTER_JOB_RUNNING, world->now_ms);
    assert_int_equal(run->ended_ms, requeued_ms);
    world_seen(world, "validate", "cancelled", true);
    world_wait(world, 5000);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(run->state, RUN_ENDED);
    assert_int_equal(run->ended_ms, requeued_ms);
}

static void the_word_of_its_worker_ends_a_run_whose_job_was_requeued(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_restarted(world, CLUSTER_JOB_PENDING, 0);
    world->now_ms += 60 * 1000; /* Slurm had lost the node, but not the node the run */
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 100);
    assert_int_equal(world_phase(world, "validate")->run->ended_ms, world->now_ms);
}

/* The requeue is seen after the run in the requeued job has begun. */
static void a_run_in_a_requeued_job_goes_on(void **state)
{
    static const enum cluster_job_state seen[] = {CLUSTER_JOB_PENDING, CLUSTER_JOB_RUNNING};
    for (size_t i = 0; i < 2; i++) {
        struct world *world = *state;
        if (i > 0) {
            world_fini(world);
            world_init(world);
        }
        world_begin(world, false);
        world_runs(world, "validate");
        world_requeues(world, "validate", 100);
        world->now_ms += 60 * 1000;
        world_event(world, EV_RUN_STARTED, "validate");
        struct run *run = world_phase(world, "validate")->run;
        assert_int_equal(run->attempt, 2);
        world_restarted(world, seen[i], run->started_ms - 1000);
        world_restarted(world, CLUSTER_JOB_RUNNING, run->started_ms - 1000);
        assert_int_equal(run->state, RUN_RUNNING);
        assert_int_equal(run->ended_ms, 0);
        assert_true(run->started_ms >= run->job_started_ms);
        assert_int_equal(run->job_started_ms, run->seat->allocation->started_ms);
    }
}

/* In the first life of the job, no rank begins. */
static void a_run_keeps_the_start_that_its_job_had(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_seen(world, "validate", "running", false);
    const struct allocation *allocation = world_phase(world, "validate")->run->seat->allocation;
    const struct run *runs[3];
    int64_t started_ms[3];
    for (unsigned i = 0; i < 3; i++) {
        runs[i] = world_phase(world, "validate")->run;
        started_ms[i] = allocation->started_ms;
        assert_true(started_ms[i] > (i > 0 ? started_ms[i - 1] : 0));
        world->now_ms += 60 * 1000;
        if (i > 0)
            world_event(world, EV_RUN_STARTED, "validate");
        world_requeues(world, "validate", 100 * i);
        struct core_event event = {.kind = EV_JOB_SEEN,
                                   .allocation = (struct allocation *)allocation,
                                   .seen = {.restarts = i + 1, .state = CLUSTER_JOB_PENDING}};
        world_step(world, event);
        event.seen.started_ms = world->now_ms += 3600 * 1000;
        event.seen.state = CLUSTER_JOB_RUNNING;
        world_step(world, event);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(runs[i]->job_started_ms, started_ms[i]);
    assert_int_equal(runs[0]->started_ms, 0);
}

static bool effect_is_done(const struct world *world, enum core_effect_kind kind)
{
    for (size_t i = 0; i < world->effects.count; i++)
        if (world->effects.items[i].kind == kind && world->effects.items[i].is_done)
            return true;
    return false;
}

/* The daemon was killed before the answer to its submission was recorded. Slurm has forgotten the
 * job. */
static void an_outcome_names_the_job_that_slurm_has_forgotten(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_UNKNOWN, "validate");
    struct run *run = world_phase(world, "validate")->run;
    assert_int_equal(run->state, RUN_SUBMITTING);
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = run,
                                          .slurm_id = 77,
                                          .outcome = OUTCOME_FAILED,
                                          .cause = CAUSE_EXIT,
                                          .step = -1,
                                          .ended_ms = world->now_ms});
    assert_non_null(strstr(world_trace(world), "tell-end validate#1\n"));
    assert_int_equal(run->seat->allocation->slurm_id, 77);
    world_event(world, EV_JOB_ABSENT, "validate");
    assert_true(run->seat->allocation->ended);
    assert_true(effect_is_done(world, FX_TELL_END));
}

static void late_save(struct world *world, struct run *run, int64_t step, const char *path)
{
    world_step(world,
               (struct core_event){.kind = EV_CHECKPOINT, .run = run, .path = path, .step = step});
}

/* The ranks of a lost run save for some seconds, while its next runs find no node. */
static void what_a_run_saves_after_its_end_counts_until_a_run_has_begun(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    struct phase *phase = world_phase(world, "validate");
    struct run *first = phase->run;
    late_save(world, first, 40, "/40");
    world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, 41);
    struct core_event held = {.kind = EV_JOB_SEEN};
    held.seen.state = CLUSTER_JOB_PENDING;
    held.seen.is_stuck = true;
    world_event(world, EV_SUBMITTED, "validate");
    held.allocation = phase->run->seat->allocation;
    world_step(world, held);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(phase->run->attempt, 3); /* the second never began */
    assert_string_equal(phase->run->resume_path, "/40");
    late_save(world, first, 60, "/60");
    assert_string_equal(phase->run->resume_path, "/60");
    world_runs(world, "validate");
    late_save(world, first, 66, "/66");
    assert_string_equal(phase->checkpoint_path, "/60");
}

static void what_was_saved_before_a_failed_guard_counts_when_it_is_found_late(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    struct run *first = world_phase(world, "validate")->run;
    world_step(world, (struct core_event){.kind = EV_SUSPECT, .run = first, .since = 35});
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_NAN, 40);
    world_command(world, "validate", COMMAND_RETRY);
    late_save(world, first, 30, "/30");
    late_save(world, first, 40, "/40");
    assert_string_equal(world_phase(world, "validate")->run->resume_path, "/30");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_job_that_comes_back_is_cancelled_each_time),
        WORLD_TEST(the_id_of_another_job_that_comes_back_is_recorded),
        WORLD_TEST(a_job_that_comes_back_before_its_run_has_ended_goes_on),
        WORLD_TEST(a_job_that_comes_back_to_a_stopping_run_is_cancelled_again),
        WORLD_TEST(a_job_that_comes_back_to_a_run_that_must_stop_is_cancelled_in_time),
        WORLD_TEST(a_run_whose_worker_reported_its_end_needs_no_tombstone),
        WORLD_TEST(a_job_that_goes_on_after_its_last_run_is_cancelled),
        WORLD_TEST(a_job_is_not_cancelled_while_slurm_does_not_answer),
        WORLD_TEST(a_job_with_a_second_phase_is_not_cancelled_for_its_first),
        WORLD_TEST(a_job_that_is_requeued_after_its_last_run_is_cancelled),
        WORLD_TEST(a_requeued_job_waits_for_the_verdict_on_its_run),
        WORLD_TEST(a_requeued_job_that_has_started_again_ends_by_itself),
        WORLD_TEST(a_run_whose_job_waits_again_is_pending),
        WORLD_TEST(a_requeued_job_that_slurm_holds_gives_its_phase_a_new_job),
        WORLD_TEST(a_job_that_looked_cancelled_goes_on_also_with_on_fail_fail),
        WORLD_TEST(a_cancelled_job_fails_its_phase_finally_when_it_is_over),
        WORLD_TEST(a_person_retries_a_phase_before_its_cancelled_job_is_over),
        WORLD_TEST(a_job_that_waits_after_its_last_run_is_cancelled),
        WORLD_TEST(a_run_counts_as_over_since_the_requeue_of_its_job),
        WORLD_TEST(the_word_of_its_worker_ends_a_run_whose_job_was_requeued),
        WORLD_TEST(a_run_in_a_requeued_job_goes_on),
        WORLD_TEST(a_run_keeps_the_start_that_its_job_had),
        WORLD_TEST(an_outcome_names_the_job_that_slurm_has_forgotten),
        WORLD_TEST(what_a_run_saves_after_its_end_counts_until_a_run_has_begun),
        WORLD_TEST(what_was_saved_before_a_failed_guard_counts_when_it_is_found_late),
    };
    return cmocka_run_group_tests_name("core back", tests, NULL, NULL);
}
