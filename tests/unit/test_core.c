/* The decisions of the core as traces: what happened, and what the core wants done. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include "daemon/core/decision.h"
#include "lib/error.h"

#include <stdlib.h>
#include <string.h>

static void two_phases_run_to_their_end_in_one_allocation(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    assert_string_equal(world_trace(world), "validate: blocked -> queued\n"
                                            "submit validate#1\n");
    world_event(world, EV_SUBMITTED, "validate");
    assert_string_equal(world_trace(world), "validate#1: submitting -> pending\n");
    world_seen(world, "validate", "running", false);
    assert_string_equal(world_trace(world), "validate#1: pending -> starting\n"
                                            "validate: queued -> active\n");
    world_event(world, EV_RUN_STARTED, "validate");
    assert_string_equal(world_trace(world), "validate#1: starting -> running\n");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    assert_string_equal(world_trace(world), "validate#1: running -> ended\n"
                                            "validate: active -> deciding\n"
                                            "judge validate\n");
    world_judged(world, "validate", GATE_PASSED);
    assert_string_equal(world_trace(world), "validate: deciding -> succeeded\n"
                                            "production: blocked -> queued\n"
                                            "tell-next production#1\n"
                                            "promotion of validate by its gate, in place\n");
    world_event(world, EV_RUN_STARTED, "production");
    assert_string_equal(world_trace(world), "production#1: starting -> running\n"
                                            "production: queued -> active\n");
    world_ended(world, "production", OUTCOME_SUCCEEDED, CAUSE_NONE, 5000);
    world_judged(world, "production", GATE_PASSED);
    assert_string_equal(world_trace(world), "production#1: running -> ended\n"
                                            "production: active -> deciding\n"
                                            "judge production\n"
                                            "production: deciding -> succeeded\n"
                                            "tell-end production#1\n");
    assert_int_equal(workflow_state(world->workflow), WORKFLOW_SUCCEEDED);
    assert_int_equal(world->workflow->ended_ms, world->now_ms);
}

static void a_phase_of_another_shape_is_submitted(void **state)
{
    struct world *world = *state;
    world->workflow->phases[1].nodes = 2;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    (void)world_trace(world);
    world_judged(world, "validate", GATE_PASSED);
    assert_string_equal(world_trace(world), "validate: deciding -> succeeded\n"
                                            "production: blocked -> queued\n"
                                            "submit production#1\n"
                                            "promotion of validate by its gate\n"
                                            "tell-end validate#1\n");
}

static void a_late_verdict_needs_a_new_submission(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    world->now_ms += 19 * 1000; /* the lead lingers for 20 s, so this does not reach it */
    (void)world_trace(world);
    world_judged(world, "validate", GATE_PASSED);
    assert_non_null(strstr(world_trace(world), "submit production#1\n"));
}

static void a_phase_that_has_too_little_time_left_is_submitted(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world->now_ms += 3400 * 1000; /* 200 s are left; a tenth of production's hour is 360 s */
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    (void)world_trace(world);
    world_judged(world, "validate", GATE_PASSED);
    assert_non_null(strstr(world_trace(world), "submit production#1\n"));
}

static void a_failed_gate_holds_and_a_person_may_promote(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    (void)world_trace(world);
    world_judged(world, "validate", GATE_FAILED);
    assert_string_equal(world_trace(world), "tell-end validate#1\n"
                                            "validate: deciding -> held\n");
    assert_int_equal(workflow_state(world->workflow), WORKFLOW_HELD);
    world->now_ms += 60 * 1000;
    world_seen(world, "validate", "completed", true);
    world_command(world, "validate", COMMAND_PROMOTE);
    assert_string_equal(world_trace(world), "validate: held -> succeeded\n"
                                            "production: blocked -> queued\n"
                                            "submit production#1\n"
                                            "promotion of validate by anna\n");
    assert_true(world_phase(world, "validate")->is_overridden);
}

static void no_phase_joins_an_allocation_that_is_being_released(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    world_judged(world, "validate", GATE_FAILED);
    (void)world_trace(world);
    world_command(world, "validate", COMMAND_PROMOTE); /* the lead is still ending */
    assert_non_null(strstr(world_trace(world), "submit production#1\n"));
}

static void a_run_continues_in_a_requeued_job_which_begins_soon(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_requeues(world, "validate", 100);
    assert_string_equal(world_trace(world), "validate#1: running -> ended\n"
                                            "validate: active -> queued\n"
                                            "tell-next validate#2\n");
    struct core_event waiting = {
        .kind = EV_JOB_SEEN, .allocation = world_phase(world, "validate")->run->seat->allocation};
    waiting.seen.state = CLUSTER_JOB_PENDING;
    waiting.seen.is_waiting = true;
    waiting.seen.restarts = 1;
    world_step(world, waiting);
    assert_string_equal(world_trace(world), "begin-job validate#2\n"
                                            "read-outcome validate#2\n");
    world_event(world, EV_RUN_SILENT, "validate"); /* the lead made no run of its own */
    world_seen(world, "validate", "running", false);
    assert_string_equal(world_trace(world), "validate#2: pending -> starting\n"
                                            "validate: queued -> active\n");
    assert_int_equal(world->workflow->allocation_count, 1);
}

static void a_job_that_looked_cancelled_goes_on_after_a_requeue(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_CANCELLED, CAUSE_NONE, 100);
    assert_int_equal(world_phase(world, "validate")->hold, HOLD_FAILURE);
    struct core_event waiting = {
        .kind = EV_JOB_SEEN, .allocation = world_phase(world, "validate")->run->seat->allocation};
    waiting.seen.state = CLUSTER_JOB_PENDING;
    waiting.seen.restarts = 1;
    (void)world_trace(world);
    world_step(world, waiting);
    assert_string_equal(world_trace(world), "validate: held -> queued\n"
                                            "tell-next validate#2\n");
}

static void a_requeued_job_that_ends_is_replaced_by_a_new_job(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, "validate")->run,
                                          .outcome = OUTCOME_TIMED_OUT,
                                          .requeues = true,
                                          .step = 100});
    world_seen(world, "validate", "completed", true); /* Slurm refused the requeue */
    world_wait(world, 5000);
    (void)world_trace(world);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "validate#2: pending -> ended\n"
                                            "seal validate#2\n"
                                            "submit validate#3\n");
    assert_int_equal(world_phase(world, "validate")->failures[CAUSE_LAUNCH], 0);
}

static void a_job_that_slurm_holds_is_replaced(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    (void)world_trace(world);
    struct core_event stuck = {.kind = EV_JOB_SEEN,
                               .allocation = world_phase(world, "validate")->run->seat->allocation};
    stuck.seen.state = CLUSTER_JOB_PENDING;
    stuck.seen.is_stuck = true;
    world_step(world, stuck);
    assert_string_equal(world_trace(world), "cancel-job validate#1\n"
                                            "read-outcome validate#1\n");
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "validate#1: pending -> ended\n"
                                            "seal validate#1\n"
                                            "submit validate#2\n");
}

static void each_failed_node_delays_the_next_run_longer(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    int64_t before_ms = 0;
    for (unsigned i = 1; i <= run_cause_retries(CAUSE_NODE_FAIL); i++) {
        world_runs(world, "validate");
        world_ended(world, "validate", OUTCOME_FAILED, CAUSE_NODE_FAIL, (int64_t)i);
        const struct core_effect *last = &world->effects.items[world->effects.count - 1];
        assert_int_equal(last->kind, FX_SUBMIT);
        assert_true(last->due_ms - world->now_ms > before_ms);
        before_ms = last->due_ms - world->now_ms;
    }
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_NODE_FAIL, 9);
    assert_int_equal(world_phase(world, "validate")->hold, HOLD_FAILURE);
}

static void on_fail_fail_skips_the_phases_after(void **state)
{
    struct world *world = *state;
    world->workflow->phases[0].fail_finally = true;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_EXIT, 3);
    assert_string_equal(world_trace(world), "validate#1: running -> ended\n"
                                            "tell-end validate#1\n"
                                            "validate: active -> failed\n"
                                            "production: blocked -> skipped\n");
    assert_int_equal(workflow_state(world->workflow), WORKFLOW_FAILED);
    world_command(world, "validate", COMMAND_RETRY);
    assert_string_equal(world_trace(world), "validate: failed -> queued\n"
                                            "submit validate#2\n"
                                            "production: skipped -> blocked\n");
    assert_int_equal(world->workflow->ended_ms, 0);
}

static void the_run_after_a_preempted_run_resumes_from_its_checkpoint(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_step(world, (struct core_event){.kind = EV_CHECKPOINT,
                                          .run = world_phase(world, "validate")->run,
                                          .path = "/out/step_500",
                                          .step = 500});
    world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, 510);
    assert_string_equal(world_trace(world), "validate#1: running -> ended\n"
                                            "tell-end validate#1\n"
                                            "validate: active -> queued\n"
                                            "submit validate#2\n");
    assert_string_equal(world_phase(world, "validate")->run->resume_path, "/out/step_500");
    assert_int_equal(world_phase(world, "validate")->run->resume_step, 500);
}

static void saves(struct world *world, int64_t step, const char *path)
{
    world_step(world, (struct core_event){.kind = EV_CHECKPOINT,
                                          .run = world_phase(world, "validate")->run,
                                          .path = path,
                                          .step = step});
}

/* Checks that checkpoints from step `since` on are suspect, and that `path` of `step` is the newest
 * good one. */
static void is_suspect(struct world *world, int64_t since, const char *path, int64_t step)
{
    world_step(world, (struct core_event){.kind = EV_SUSPECT,
                                          .run = world_phase(world, "validate")->run,
                                          .since = since,
                                          .path = path,
                                          .step = step});
}

static void no_run_resumes_from_a_checkpoint_after_a_failed_guard(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    saves(world, 20, "/20");
    saves(world, 30, "/30");
    is_suspect(world, 25, "/20", 20);
    saves(world, 40, "/40");
    assert_string_equal(world_phase(world, "validate")->checkpoint_path, "/20");
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_NAN, 40);
    world_command(world, "validate", COMMAND_RETRY);
    assert_string_equal(world_phase(world, "validate")->run->resume_path, "/20");
    world_runs(world, "validate");
    /* The next run saves no good checkpoint at all, so the phase goes back to where that run
     * began. */
    saves(world, 30, "/30");
    is_suspect(world, 26, NULL, -1);
    assert_string_equal(world_phase(world, "validate")->checkpoint_path, "/20");
    assert_int_equal(world_phase(world, "validate")->checkpoint_step, 20);
}

static void a_phase_without_a_good_checkpoint_begins_from_the_start(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    saves(world, 20, "/20");
    is_suspect(world, 10, NULL, -1);
    assert_null(world_phase(world, "validate")->checkpoint_path);
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_NAN, 20);
    world_command(world, "validate", COMMAND_RETRY);
    assert_null(world_phase(world, "validate")->run->resume_path);
}

/* Not every checkpoint of a phase leads to its present step. */
static void a_run_that_went_back_saves_its_steps_again(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    saves(world, 20, "/20");
    saves(world, 40, "/40");
    world_ended(world, "validate", OUTCOME_PREEMPTED, CAUSE_NONE, 41);
    struct phase *phase = world_phase(world, "validate");
    world_step(world, (struct core_event){
                          .kind = EV_RUN_STARTED, .run = phase->run, .path = "/20", .step = 20});
    saves(world, 30, "/30b");
    assert_string_equal(phase->checkpoint_path, "/30b");
    saves(world, 25, "/25b");
    assert_string_equal(phase->checkpoint_path, "/30b");
}

/* The first run of a rehearsal, with a checkpoint of step 20. */
static void rehearse_first_run(struct world *world)
{
    world->workflow->phases[0].must_resume = world->workflow->phases[0].fail_finally = true;
    world_begin(world, false);
    world_runs(world, "validate");
    world_step(world, (struct core_event){.kind = EV_CHECKPOINT,
                                          .run = world_phase(world, "validate")->run,
                                          .path = "/out/step_20",
                                          .step = 20});
}

static void rehearse_end(struct world *world, bool by_until, int64_t step)
{
    struct run *run = world_phase(world, "validate")->run;
    if (by_until)
        world_step(world, (struct core_event){
                              .kind = EV_RUN_STOPPING, .run = run, .stop_reason = STOP_UNTIL});
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = run,
                                          .outcome = OUTCOME_SUCCEEDED,
                                          .step = step,
                                          .ended_ms = world->now_ms,
                                          .message = "until is a word"});
}

static void a_rehearsal_that_until_has_ended_resumes_once(void **state)
{
    struct world *world = *state;
    rehearse_first_run(world);
    rehearse_end(world, true, 20);
    assert_string_equal(world_trace(world), "validate#1: running -> stopping\n"
                                            "validate#1: stopping -> ended\n"
                                            "validate: active -> queued\n"
                                            "tell-next validate#2\n");
    assert_int_equal(world_phase(world, "validate")->run->resume_step, 20);
    world_event(world, EV_RUN_STARTED, "validate");
    (void)world_trace(world);
    rehearse_end(world, true, 25);
    assert_string_equal(world_trace(world), "validate#2: running -> stopping\n"
                                            "validate#2: stopping -> ended\n"
                                            "validate: active -> deciding\n"
                                            "judge validate\n");
}

static void a_rehearsal_that_ended_by_itself_does_not_resume(void **state)
{
    struct world *world = *state;
    rehearse_first_run(world);
    rehearse_end(world, false, 20);
    assert_int_equal(world_phase(world, "validate")->state, PHASE_DECIDING);
}

static void a_rehearsal_does_not_try_an_older_checkpoint(void **state)
{
    struct world *world = *state;
    rehearse_first_run(world);
    rehearse_end(world, true, 20);
    world_event(world, EV_RUN_STARTED, "validate");
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_EXIT, 20);
    assert_int_equal(world_phase(world, "validate")->state, PHASE_FAILED);
}

static void a_submission_without_an_answer_is_looked_up_before_another(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    (void)world_trace(world);
    world_event(world, EV_UNSURE, "validate");
    assert_string_equal(world_trace(world), "lookup validate#1\n");
    world_event(world, EV_UNSURE, "validate");
    assert_string_equal(world_trace(world), "lookup validate#1\n");
    world_event(world, EV_UNKNOWN, "validate"); /* the job may have existed, and Slurm forgot it */
    assert_string_equal(world_trace(world), "read-outcome validate#1\n");
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "submit validate#1\n");
    world_event(world, EV_UNSURE, "validate");
    world_event(world, EV_SUBMITTED, "validate"); /* Slurm knows the job: it is adopted */
    assert_string_equal(world_trace(world), "lookup validate#1\n"
                                            "validate#1: submitting -> pending\n");
    assert_int_equal(world->workflow->allocation_count, 1);
}

static void a_refused_job_holds_its_phase_at_once(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    (void)world_trace(world);
    world_event(world, EV_REFUSED, "validate");
    assert_string_equal(world_trace(world), "validate#1: submitting -> ended\n"
                                            "seal validate#1\n"
                                            "validate: queued -> held\n");
    assert_memory_equal(world->workflow->phases[0].reason, "launch: refused by Slurm", 24);
}

static void after_ten_tries_the_reason_says_so(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    const struct allocation *allocation = world_phase(world, "validate")->run->seat->allocation;
    for (unsigned i = 0; i < LIMITED_TRIES_SAID; i++) {
        world_event(world, EV_LIMITED, "validate");
        assert_null(strstr(allocation->reason, "tried"));
    }
    (void)world_trace(world);
    world_event(world, EV_LIMITED, "validate");
    assert_string_equal(world_trace(world), "submit validate#1\n"); /* it submits all the same */
    assert_non_null(strstr(allocation->reason, "phased has tried 10 times"));
}

/* Looks every ten seconds for so many seconds. */
static void absent_for(struct world *world, int64_t seconds)
{
    for (int64_t end_ms = world->now_ms + seconds * 1000; world->now_ms < end_ms;) {
        world->now_ms += end_ms - world->now_ms < 10000 ? end_ms - world->now_ms : 10000;
        world_event(world, EV_JOB_ABSENT, "validate");
    }
}

static void a_run_is_lost_only_after_five_minutes_of_absence(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_event(world, EV_JOB_ABSENT, "validate");
    assert_string_equal(world_trace(world), "read-outcome validate#1\n");
    absent_for(world, 299);
    assert_string_equal(world_trace(world), "");
    world_seen(world, "validate", "running", false); /* only continuous absence counts */
    absent_for(world, 250);
    world->now_ms += 200 * 1000; /* nobody could look: the controller did not answer */
    absent_for(world, 299);
    assert_false(world_phase(world, "validate")->run->seat->allocation->ended);
    absent_for(world, 12);
    assert_true(world_phase(world, "validate")->run->seat->allocation->ended);
    (void)world_trace(world);
    world->now_ms += 5000;
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "validate#1: running -> ended\n"
                                            "seal validate#1\n"
                                            "validate: active -> queued\n"
                                            "submit validate#2\n");
}

static void an_ended_job_waits_for_the_outcome_file(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_seen(world, "validate", "completed", true);
    world_event(world, EV_RUN_SILENT, "validate"); /* too early to give up */
    assert_string_equal(world_trace(world), "read-outcome validate#1\n");
    world_wait(world, 5000);
    assert_string_equal(world_trace(world), "read-outcome validate#1\n");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    assert_non_null(strstr(world_trace(world), "judge validate\n"));
}

static void a_batch_script_with_exit_code_0_and_no_outcome_is_no_success(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_seen(world, "validate", "completed", true);
    world_wait(world, 5000);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(world->workflow->runs[0]->outcome, OUTCOME_LOST);
    assert_string_equal(world->workflow->runs[0]->message,
                        "its worker left no outcome; Slurm: completed");
}

/* The words are the same whether or not something had to stop first. */
static void a_reason_names_the_person_and_repeats_nothing(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_command(world, "validate", COMMAND_CANCEL);
    world_event(world, EV_SUBMITTED, "validate");
    world_seen(world, "validate", "running", false);
    assert_int_equal(world_phase(world, "validate")->state, PHASE_ACTIVE);
    world_event(world, EV_RUN_STARTED, "validate");
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, "validate")->run,
                                          .outcome = OUTCOME_PREEMPTED,
                                          .requeues = true,
                                          .step = 10,
                                          .ended_ms = world->now_ms});
    assert_int_equal(world_phase(world, "validate")->state, PHASE_QUEUED);
    world_seen(world, "validate", "cancelled", true);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(world_phase(world, "validate")->state, PHASE_CANCELLED);
    assert_string_equal(world_phase(world, "validate")->reason, "cancelled by anna");
}

static void a_reason_names_a_failure_once(void **state)
{
    static const struct {
        enum run_outcome outcome;
        enum run_cause cause;
        const char *message, *reason;
    } rows[] = {
        {OUTCOME_FAILED, CAUSE_GUARD, "guard failed: cap 3", "guard failed: cap 3"},
        {OUTCOME_FAILED, CAUSE_EXIT, "rank 0 gave up", "exit: rank 0 gave up"},
        {OUTCOME_FAILED, CAUSE_EXIT, "", "exit"},
        {OUTCOME_CANCELLED, CAUSE_NONE, "the job was cancelled in Slurm",
         "the job was cancelled in Slurm, and not by phased"},
        {OUTCOME_CANCELLED, CAUSE_NONE, "", "the job was cancelled in Slurm, and not by phased"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *made;
        assert_int_equal(core_world_setup(&made), 0);
        struct world *world = made;
        world_begin(world, false);
        world_runs(world, "validate");
        world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                              .run = world_phase(world, "validate")->run,
                                              .outcome = rows[i].outcome,
                                              .cause = rows[i].cause,
                                              .message = rows[i].message,
                                              .ended_ms = world->now_ms});
        assert_string_equal(world_phase(world, "validate")->reason, rows[i].reason);
        assert_int_equal(core_world_teardown(&made), 0);
    }
}

static void a_repeated_end_changes_nothing(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    (void)world_trace(world);
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_EXIT, 1000);
    world_event(world, EV_RUN_STARTED, "validate");
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(two_phases_run_to_their_end_in_one_allocation),
        WORLD_TEST(a_phase_of_another_shape_is_submitted),
        WORLD_TEST(a_reason_names_the_person_and_repeats_nothing),
        cmocka_unit_test(a_reason_names_a_failure_once),
        WORLD_TEST(a_late_verdict_needs_a_new_submission),
        WORLD_TEST(a_phase_that_has_too_little_time_left_is_submitted),
        WORLD_TEST(a_failed_gate_holds_and_a_person_may_promote),
        WORLD_TEST(no_phase_joins_an_allocation_that_is_being_released),
        WORLD_TEST(a_run_continues_in_a_requeued_job_which_begins_soon),
        WORLD_TEST(a_job_that_looked_cancelled_goes_on_after_a_requeue),
        WORLD_TEST(a_requeued_job_that_ends_is_replaced_by_a_new_job),
        WORLD_TEST(a_job_that_slurm_holds_is_replaced),
        WORLD_TEST(each_failed_node_delays_the_next_run_longer),
        WORLD_TEST(on_fail_fail_skips_the_phases_after),
        WORLD_TEST(the_run_after_a_preempted_run_resumes_from_its_checkpoint),
        WORLD_TEST(no_run_resumes_from_a_checkpoint_after_a_failed_guard),
        WORLD_TEST(a_phase_without_a_good_checkpoint_begins_from_the_start),
        WORLD_TEST(a_run_that_went_back_saves_its_steps_again),
        WORLD_TEST(a_rehearsal_that_until_has_ended_resumes_once),
        WORLD_TEST(a_rehearsal_that_ended_by_itself_does_not_resume),
        WORLD_TEST(a_rehearsal_does_not_try_an_older_checkpoint),
        WORLD_TEST(a_submission_without_an_answer_is_looked_up_before_another),
        WORLD_TEST(a_refused_job_holds_its_phase_at_once),
        WORLD_TEST(after_ten_tries_the_reason_says_so),
        WORLD_TEST(a_run_is_lost_only_after_five_minutes_of_absence),
        WORLD_TEST(an_ended_job_waits_for_the_outcome_file),
        WORLD_TEST(a_batch_script_with_exit_code_0_and_no_outcome_is_no_success),
        WORLD_TEST(a_repeated_end_changes_nothing),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
