/* The core's decisions, as traces: what happened, and what the core wants done about it. */
#include "tests/unit/unit.h"

#include "tests/unit/core_world.h"

#include "daemon/core/step.h"
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
    assert_string_equal(workflow_state(world->workflow), "succeeded");
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

static void a_late_verdict_finds_the_allocation_gone(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    world->now_ms += 19 * 1000; /* of 20 s, too late to reach the lead */
    (void)world_trace(world);
    world_judged(world, "validate", GATE_PASSED);
    assert_non_null(strstr(world_trace(world), "submit production#1\n"));
}

static void too_little_time_left_means_a_new_submission(void **state)
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
    assert_string_equal(workflow_state(world->workflow), "held");
    world->now_ms += 60 * 1000;
    world_seen(world, "validate", "completed", true);
    world_command(world, "validate", COMMAND_PROMOTE);
    assert_string_equal(world_trace(world), "validate: held -> succeeded\n"
                                            "production: blocked -> queued\n"
                                            "submit production#1\n"
                                            "promotion of validate by anna\n");
    assert_true(world_phase(world, "validate")->is_overridden);
}

static void an_allocation_that_was_let_go_is_not_gone_on_in(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_SUCCEEDED, CAUSE_NONE, 1000);
    world_judged(world, "validate", GATE_FAILED);
    (void)world_trace(world);
    world_command(world, "validate", COMMAND_PROMOTE); /* while the lead is still leaving */
    assert_non_null(strstr(world_trace(world), "submit production#1\n"));
}

static void a_requeued_job_is_gone_on_in_and_begun_soon(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, "validate")->run,
                                          .outcome = OUTCOME_PREEMPTED,
                                          .requeues = true,
                                          .step = 100});
    assert_string_equal(world_trace(world), "validate#1: running -> ended\n"
                                            "validate: active -> queued\n"
                                            "tell-next validate#2\n");
    struct core_event waiting = {
        .kind = EV_JOB_SEEN, .allocation = world_phase(world, "validate")->run->seat->allocation};
    waiting.seen.state = "pending";
    waiting.seen.is_waiting = true;
    waiting.seen.restarts = 1;
    world_step(world, waiting);
    assert_string_equal(world_trace(world), "begin-job validate#2\n"
                                            "read-outcome validate#2\n");
    world_event(world, EV_RUN_SILENT, "validate"); /* nothing was begun alone */
    world_seen(world, "validate", "running", false);
    assert_string_equal(world_trace(world), "validate#2: pending -> starting\n"
                                            "validate: queued -> active\n");
    assert_int_equal(world->workflow->allocation_count, 1);
}

static void what_looked_cancelled_goes_on_when_slurm_has_requeued_it(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_ended(world, "validate", OUTCOME_CANCELLED, CAUSE_NONE, 100);
    assert_int_equal(world_phase(world, "validate")->hold, HOLD_FAILURE);
    struct core_event waiting = {
        .kind = EV_JOB_SEEN, .allocation = world_phase(world, "validate")->run->seat->allocation};
    waiting.seen.state = "pending";
    waiting.seen.restarts = 1;
    (void)world_trace(world);
    world_step(world, waiting);
    assert_string_equal(world_trace(world), "validate: held -> queued\n"
                                            "tell-next validate#2\n");
}

static void a_requeued_job_that_ends_is_followed_by_another(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, "validate")->run,
                                          .outcome = OUTCOME_TIMED_OUT,
                                          .requeues = true,
                                          .step = 100});
    world_seen(world, "validate", "completed", true); /* the requeue was refused */
    world_wait(world, 5000);
    (void)world_trace(world);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "validate#2: pending -> ended\n"
                                            "seal validate#2\n"
                                            "submit validate#3\n");
    assert_int_equal(world_phase(world, "validate")->failures[CAUSE_LAUNCH], 0);
}

static void a_job_that_slurm_holds_is_submitted_anew(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_event(world, EV_SUBMITTED, "validate");
    (void)world_trace(world);
    struct core_event stuck = {.kind = EV_JOB_SEEN,
                               .allocation = world_phase(world, "validate")->run->seat->allocation};
    stuck.seen.state = "pending";
    stuck.seen.is_stuck = true;
    world_step(world, stuck);
    assert_string_equal(world_trace(world), "cancel-job validate#1\n"
                                            "validate#1: pending -> ended\n"
                                            "seal validate#1\n"
                                            "submit validate#2\n");
}

static void a_failed_node_is_followed_after_a_growing_while(void **state)
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

static void on_fail_fail_skips_what_comes_after(void **state)
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
    assert_string_equal(workflow_state(world->workflow), "failed");
    world_command(world, "validate", COMMAND_RETRY);
    assert_string_equal(world_trace(world), "validate: failed -> queued\n"
                                            "submit validate#2\n"
                                            "production: skipped -> blocked\n");
    assert_int_equal(world->workflow->ended_ms, 0);
}

static void a_preempted_run_is_followed_from_its_checkpoint(void **state)
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

/* From step `since`; `path` of `step` is the newest before it. */
static void is_suspect(struct world *world, int64_t since, const char *path, int64_t step)
{
    world_step(world, (struct core_event){.kind = EV_SUSPECT,
                                          .run = world_phase(world, "validate")->run,
                                          .since = since,
                                          .path = path,
                                          .step = step});
}

static void what_was_saved_since_a_guard_broke_is_not_gone_on_from(void **state)
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
    /* The next one saves nothing good at all: back to where it began. */
    saves(world, 30, "/30");
    is_suspect(world, 26, NULL, -1);
    assert_string_equal(world_phase(world, "validate")->checkpoint_path, "/20");
    assert_int_equal(world_phase(world, "validate")->checkpoint_step, 20);
}

static void where_no_checkpoint_is_good_a_phase_begins_anew(void **state)
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

/* Not all that a phase has saved leads to where it is. */
static void a_run_that_went_back_saves_anew(void **state)
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

static void rehearse_end(struct world *world, const char *message, int64_t step)
{
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, "validate")->run,
                                          .outcome = OUTCOME_SUCCEEDED,
                                          .step = step,
                                          .ended_ms = world->now_ms,
                                          .message = message});
}

static void what_until_ended_in_a_rehearsal_goes_on_once(void **state)
{
    struct world *world = *state;
    rehearse_first_run(world);
    rehearse_end(world, "until holds: step >= 20", 20);
    assert_string_equal(world_trace(world), "validate#1: running -> ended\n"
                                            "validate: active -> queued\n"
                                            "tell-next validate#2\n");
    assert_int_equal(world_phase(world, "validate")->run->resume_step, 20);
    world_event(world, EV_RUN_STARTED, "validate");
    (void)world_trace(world);
    rehearse_end(world, "until holds: step >= 25", 25);
    assert_string_equal(world_trace(world), "validate#2: running -> ended\n"
                                            "validate: active -> deciding\n"
                                            "judge validate\n");
}

static void what_ended_by_itself_in_a_rehearsal_is_not_run_again(void **state)
{
    struct world *world = *state;
    rehearse_first_run(world);
    rehearse_end(world, "", 20);
    assert_int_equal(world_phase(world, "validate")->state, PHASE_DECIDING);
}

static void a_rehearsal_tries_no_older_checkpoint(void **state)
{
    struct world *world = *state;
    rehearse_first_run(world);
    rehearse_end(world, "until holds: step >= 20", 20);
    world_event(world, EV_RUN_STARTED, "validate");
    world_ended(world, "validate", OUTCOME_FAILED, CAUSE_EXIT, 20);
    assert_int_equal(world_phase(world, "validate")->state, PHASE_FAILED);
}

static void a_submission_without_an_answer_is_looked_up_first(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    (void)world_trace(world);
    world_event(world, EV_UNSURE, "validate");
    assert_string_equal(world_trace(world), "lookup validate#1\n");
    world_event(world, EV_UNSURE, "validate");
    assert_string_equal(world_trace(world), "lookup validate#1\n");
    world_event(world, EV_UNKNOWN, "validate"); /* it may have been, and be forgotten */
    assert_string_equal(world_trace(world), "read-outcome validate#1\n");
    world_event(world, EV_RUN_SILENT, "validate");
    assert_string_equal(world_trace(world), "submit validate#1\n");
    world_event(world, EV_UNSURE, "validate");
    world_event(world, EV_SUBMITTED, "validate"); /* found: adopted */
    assert_string_equal(world_trace(world), "lookup validate#1\n"
                                            "validate#1: submitting -> pending\n");
    assert_int_equal(world->workflow->allocation_count, 1);
}

static void a_refused_job_asks_a_person_at_once(void **state)
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

static void a_limit_is_waited_for_and_doubted_after_a_while(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    const struct allocation *job = world_phase(world, "validate")->run->seat->allocation;
    for (unsigned i = 0; i < LIMITED_TRIES_SAID; i++) {
        world_event(world, EV_LIMITED, "validate");
        assert_null(strstr(job->reason, "sacctmgr"));
    }
    (void)world_trace(world);
    world_event(world, EV_LIMITED, "validate");
    assert_string_equal(world_trace(world), "submit validate#1\n"); /* it goes on all the same */
    assert_non_null(strstr(job->reason, "still so after 10 tries"));
}

/* Looks every ten seconds for so long. */
static void absent_for(struct world *world, int64_t seconds)
{
    for (int64_t end_ms = world->now_ms + seconds * 1000; world->now_ms < end_ms;) {
        world->now_ms += end_ms - world->now_ms < 10000 ? end_ms - world->now_ms : 10000;
        world_event(world, EV_JOB_ABSENT, "validate");
    }
}

static void a_run_is_lost_after_five_minutes_of_absence_only(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_event(world, EV_JOB_ABSENT, "validate");
    assert_string_equal(world_trace(world), "read-outcome validate#1\n");
    absent_for(world, 299);
    assert_string_equal(world_trace(world), "");
    world_seen(world, "validate", "running", false); /* continuous absence counts */
    absent_for(world, 250);
    world->now_ms += 200 * 1000; /* nobody looked: the controller did not answer */
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

static void a_batch_script_that_ends_well_without_an_outcome_is_no_success(void **state)
{
    struct world *world = *state;
    world_begin(world, false);
    world_runs(world, "validate");
    world_seen(world, "validate", "completed", true);
    world_wait(world, 5000);
    world_event(world, EV_RUN_SILENT, "validate");
    assert_int_equal(world->workflow->runs[0]->outcome, OUTCOME_LOST);
}

/* The same words whether something had to stop first or not, through whatever came in between. */
static void a_reason_says_who_asked_and_nothing_twice(void **state)
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

static void a_failure_is_named_once(void **state)
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
        assert_int_equal(world_setup(&made), 0);
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
        assert_int_equal(world_teardown(&made), 0);
    }
}

static void duplicates_of_an_end_change_nothing(void **state)
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
        WORLD_TEST(a_reason_says_who_asked_and_nothing_twice),
        cmocka_unit_test(a_failure_is_named_once),
        WORLD_TEST(a_late_verdict_finds_the_allocation_gone),
        WORLD_TEST(too_little_time_left_means_a_new_submission),
        WORLD_TEST(a_failed_gate_holds_and_a_person_may_promote),
        WORLD_TEST(an_allocation_that_was_let_go_is_not_gone_on_in),
        WORLD_TEST(a_requeued_job_is_gone_on_in_and_begun_soon),
        WORLD_TEST(what_looked_cancelled_goes_on_when_slurm_has_requeued_it),
        WORLD_TEST(a_requeued_job_that_ends_is_followed_by_another),
        WORLD_TEST(a_job_that_slurm_holds_is_submitted_anew),
        WORLD_TEST(a_failed_node_is_followed_after_a_growing_while),
        WORLD_TEST(on_fail_fail_skips_what_comes_after),
        WORLD_TEST(a_preempted_run_is_followed_from_its_checkpoint),
        WORLD_TEST(what_was_saved_since_a_guard_broke_is_not_gone_on_from),
        WORLD_TEST(where_no_checkpoint_is_good_a_phase_begins_anew),
        WORLD_TEST(a_run_that_went_back_saves_anew),
        WORLD_TEST(what_until_ended_in_a_rehearsal_goes_on_once),
        WORLD_TEST(what_ended_by_itself_in_a_rehearsal_is_not_run_again),
        WORLD_TEST(a_rehearsal_tries_no_older_checkpoint),
        WORLD_TEST(a_submission_without_an_answer_is_looked_up_first),
        WORLD_TEST(a_refused_job_asks_a_person_at_once),
        WORLD_TEST(a_limit_is_waited_for_and_doubted_after_a_while),
        WORLD_TEST(a_run_is_lost_after_five_minutes_of_absence_only),
        WORLD_TEST(an_ended_job_waits_for_the_outcome_file),
        WORLD_TEST(a_batch_script_that_ends_well_without_an_outcome_is_no_success),
        WORLD_TEST(duplicates_of_an_end_change_nothing),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
