/* What becomes of a phase: its runs, its gate, its remedies, its end. */
#include "daemon/core/decision.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a run, which begins from the phase's checkpoint if there is one. */
static struct run *phase_add_run(struct decision *decision, struct phase *phase)
{
    struct run *run = workflow_add_run(phase->workflow, phase);
    run->id = ++decision->config->last_run;
    run->attempt = ++phase->attempts;
    run->rung = phase->rung;
    run->submitted_ms = decision->now_ms;
    if (phase->checkpoint_path) {
        run->resume_path = xstrdup(phase->checkpoint_path);
        run->resume_step = phase->checkpoint_step;
    }
    return run;
}

static void phase_queue(struct decision *decision, struct phase *phase, const char *reason)
{
    if (phase->state == PHASE_QUEUED)
        decision_save_phase(decision, phase);
    else
        phase_move(decision, phase, PHASE_QUEUED, reason);
}

void phase_start(struct decision *decision, struct phase *phase, const char *reason, int64_t due_ms)
{
    struct allocation *shared = phase_to_join(decision, phase);
    struct run *run = phase_add_run(decision, phase);
    run->state = RUN_SUBMITTING;
    run->seat = seat_new(decision, phase->workflow);
    if (shared)
        seat_join(decision, run, shared);
    phase_queue(decision, phase, reason);
    decision_save_seat(decision, run);
    decision_save_run(decision, run);
    if (shared) {
        decision_do(decision, FX_TELL_NEXT, run)->due_ms = due_ms;
        run_catch_up(decision, run);
    } else {
        allocation_new(decision, run, due_ms);
    }
}

struct run *phase_start_in_seat(struct decision *decision, struct phase *phase, struct run *donor,
                                enum run_state state, const char *reason)
{
    struct run *run = phase_add_run(decision, phase);
    run->seat = donor->seat;
    run->in_place = true;
    run->state = state;
    run->told_ms = decision->now_ms;
    phase_queue(decision, phase, reason);
    decision_save_run(decision, run);
    (void)decision_do(decision, FX_TELL_NEXT, run); /* at once */
    /* If a lead has begun this run while the daemon was away, the run's folder says so. */
    if (donor->seat->allocation->ended) {
        run->silent_since_ms = decision->now_ms;
        (void)decision_do(decision, FX_READ_OUTCOME, run);
    }
    return run;
}

void phase_let_go(struct decision *decision, struct phase *phase)
{
    struct run *run = phase_donor(phase);
    if (run && run->has_begun) {
        run->is_let_go = true;
        (void)decision_do(decision, FX_TELL_END, run); /* at once */
    }
}

static void phase_go_on(struct decision *decision, struct phase *phase, const char *reason)
{
    struct run *before = phase->run;
    char asked[REASON_MAX]; /* who wants the run to stop */
    memcpy(asked, phase->reason, sizeof asked);
    struct run *run = phase_start_in_seat(decision, phase, before, RUN_PENDING, reason);
    if (before->wish != WISH_NONE)
        run_stop(decision, run, before->wish, asked);
}

/* The first and the last step that runs told; -1: they told no step. */
struct told {
    int64_t first, last;
};

/* What the runs of the phase told, except `run`; NULL: what all of them told. */
static struct told phase_told_before(const struct phase *phase, const struct run *run)
{
    const struct workflow *workflow = phase->workflow;
    struct told told = {-1, -1};
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *before = workflow->runs[i];
        if (before == run || before->phase != phase)
            continue;
        if (before->begin_step >= 0 && (told.first < 0 || before->begin_step < told.first))
            told.first = before->begin_step;
        if (before->last_step > told.last)
            told.last = before->last_step;
    }
    return told;
}

/* Whether another run may follow a run that ended at its time limit. The next run will reach the
 * limit, too. It may follow if the run left a checkpoint. Without a checkpoint, it may follow if
 * the program seems to resume by itself. In that case the run came farther than the runs before it,
 * and began past the middle of the steps that they told: a program that saves every n steps loses
 * less than n steps. A run that began anew can come farther by chance, but it begins where the
 * earlier runs began. That may be far from 0: a program may tell few steps, or count on from the
 * steps of another program.
 *
 * The first run cannot show that, so the spec decides: a phase without `checkpoint`, such as an
 * sbatch script, ends at its limit as under sbatch. A lead sees one run, so it goes on by itself
 * only with a checkpoint. A program that counts shards instead of steps (`begin_step` is -1) does
 * not repeat them: `last_step` counts the shards of all runs. */
static bool phase_may_time_out_again(const struct phase *phase, const struct run *run)
{
    struct told before = phase_told_before(phase, run);
    if (phase->checkpoint_path && phase->checkpoint_step > run->resume_step)
        return true;
    if (run->last_step <= run->resume_step || run->last_step <= before.last)
        return false;
    if (run->begin_step < 0)
        return true;
    if (before.last < 0)
        return phase->has_checkpoint;
    return 2 * run->begin_step > before.first + before.last;
}

/* The highest step that is not new for the run: where it began, or what the preempted runs just
 * before it made from the same checkpoint. A phase without `checkpoint` begins anew each time, like
 * a job that Slurm requeues. So any step is new. */
static int64_t phase_known_step(const struct phase *phase, const struct run *run)
{
    const struct workflow *workflow = phase->workflow;
    int64_t known = run->resume_step;
    bool is_earlier = false;
    for (size_t i = workflow->run_count; phase->has_checkpoint && i-- > 0;) {
        const struct run *before = workflow->runs[i];
        if (is_earlier && before->phase == phase) {
            if (before->outcome != OUTCOME_PREEMPTED || before->resume_step != run->resume_step)
                break;
            known = before->last_step > known ? before->last_step : known;
        }
        is_earlier |= before == run;
    }
    return known;
}

/* Whether the run brought the phase farther: it saved a checkpoint, or made a new step. */
static bool phase_got_farther(const struct phase *phase, const struct run *run)
{
    if (run->outcome == OUTCOME_TIMED_OUT)
        return phase_may_time_out_again(phase, run);
    return (run->has_saved && phase->checkpoint_step > run->resume_step) ||
           run->last_step > phase_known_step(phase, run);
}

/* Whether phased sees nothing of the phase: it has no `checkpoint`, and no run has told a step. The
 * program may have come far all the same, so the phase is run again after each preemption, as Slurm
 * would run a script again. */
static bool phase_is_unseen(const struct phase *phase)
{
    return !phase->has_checkpoint && phase_told_before(phase, NULL).last < 0;
}

/* Counts the runs in a row that made no new step. Holds the phase after the last run that
 * is allowed. A run that was preempted does not count if nothing is seen of the phase. */
static bool phase_is_stalled(struct decision *decision, struct phase *phase, const struct run *run,
                             const char *reason)
{
    char text[REASON_MAX];
    if (run->outcome == OUTCOME_PREEMPTED && phase_is_unseen(phase))
        return false;
    phase->stalls = phase_got_farther(phase, run) ? 0 : phase->stalls + 1;
    if (phase->stalls < STALLED_RUNS_MAX)
        return false;
    (void)snprintf(text, sizeof text,
                   "%u runs in a row made no new step and saved no newer checkpoint; the last one: "
                   "%.120s",
                   phase->stalls, reason);
    phase_let_go(decision, phase);
    phase_move_held(decision, phase, HOLD_PROGRESS, text);
    return true;
}

/* Holds a phase that timed out without a checkpoint and would only repeat itself. */
static void phase_hold_timed_out(struct decision *decision, struct phase *phase)
{
    const struct run *run = phase->run;
    char text[REASON_MAX], at[48] = "before its first step,";
    if (run->last_step >= 0)
        (void)snprintf(at, sizeof at, "%sat step %lld",
                       phase_told_before(phase, run).last >= 0 ? "again " : "",
                       (long long)run->last_step);
    (void)snprintf(text, sizeof text,
                   "timed out %s without a checkpoint: submit it again with a longer time or %s; "
                   "retry only if the script resumes by itself",
                   at, phase->has_checkpoint ? "an earlier checkpoint" : "with `checkpoint`");
    phase_let_go(decision, phase);
    phase_move_held(decision, phase, HOLD_PROGRESS, text);
}

static void phase_again(struct decision *decision, struct phase *phase, const char *reason)
{
    const struct run *run = phase->run;
    bool is_endless = run->outcome == OUTCOME_TIMED_OUT && !phase->checkpoint_path;
    if (run->has_begun && is_endless && !phase_got_farther(phase, run)) {
        phase_hold_timed_out(decision, phase);
        return;
    }
    if (run->has_begun && phase_is_stalled(decision, phase, run, reason))
        return;
    phase_let_go(decision, phase);
    phase_start(decision, phase, reason, 0);
}

static void phase_follow(struct decision *decision, struct phase *phase, bool can_stay,
                         int64_t delay_ms, const char *reason)
{
    if (can_stay && phase_fits(phase, phase->run, decision->now_ms)) {
        (void)phase_start_in_seat(decision, phase, phase->run, RUN_STARTING, reason);
        return;
    }
    phase_let_go(decision, phase);
    phase_start(decision, phase, reason, delay_ms ? decision->now_ms + delay_ms : 0);
}

/* Whether the phase is a member, and its params are to blame for the failure: no person is asked.
 */
static bool phase_is_out(const struct phase *phase, enum phase_hold hold)
{
    const struct run *run = phase->run;
    if (!phase->matrix || hold == HOLD_GATE)
        return phase->matrix != NULL;
    return hold == HOLD_FAILURE && run && run->outcome == OUTCOME_FAILED &&
           (run->cause == CAUSE_OOM || run->cause == CAUSE_NAN || run->cause == CAUSE_GUARD);
}

/* Whether the run looked cancelled, and Slurm may only have requeued its job. */
static bool run_may_go_on(const struct run *run)
{
    return run && run->outcome == OUTCOME_CANCELLED && !run->seat->allocation->ended;
}

void phase_fail(struct decision *decision, struct phase *phase, enum phase_hold hold,
                const char *reason)
{
    bool is_final =
        (phase->fail_finally && !run_may_go_on(phase->run)) || phase_is_out(phase, hold);
    if (!is_final || !phase->matrix) /* the allocation of a member is left to its matrix */
        phase_let_go(decision, phase);
    if (!is_final) {
        phase_move_held(decision, phase, hold, reason);
        return;
    }
    phase_move(decision, phase, PHASE_FAILED, reason);
    decision_tell_phase(decision, FACT_PHASE_LOST, phase, "");
}

void phase_cancel(struct decision *decision, struct phase *phase, const char *reason)
{
    remedy_forget(decision, phase);
    phase_let_go(decision, phase);
    phase_move(decision, phase, PHASE_CANCELLED, reason);
    decision_tell_phase(decision, FACT_PHASE_LOST, phase, "");
}

void phase_succeed(struct decision *decision, struct phase *phase, const char *reason,
                   const char *who)
{
    phase_move(decision, phase, PHASE_SUCCEEDED, reason);
    decision_tell_phase(decision, FACT_PHASE_SUCCEEDED, phase, who);
}

void phase_adopt_revision(struct decision *decision, struct phase *phase,
                          const struct workflow *revision)
{
    struct workflow *workflow = phase->workflow;
    assert(revision->phase_count == workflow->phase_count);
    phase_adopt(phase, &revision->phases[phase->index]);
    for (size_t i = phase->index + 1; i < workflow->phase_count; i++) {
        struct phase *next = &workflow->phases[i];
        if (next->run)
            continue;
        phase_adopt(next, &revision->phases[i]);
        decision_save_phase(decision, next);
    }
}

/* --- Facts about its run ------------------------------------------------------------------ */

static void phase_on_run_began(struct decision *decision, struct phase *phase)
{
    const struct run *run = decision->fact->run;
    phase_move(decision, phase, PHASE_ACTIVE, run->wish == WISH_NONE ? "" : phase->reason);
}

/* The daemon was wrong to believe that the run runs, or Slurm has requeued its job before its lead
 * reported. */
static void phase_on_run_waits(struct decision *decision, struct phase *phase)
{
    const struct run *before = core_run_before(decision->fact->run);
    bool is_resume = before && before->outcome == OUTCOME_PREEMPTED;
    phase_move(decision, phase, PHASE_QUEUED,
               is_resume ? run_outcome_name(OUTCOME_PREEMPTED) : "requeued");
}

/* How long to wait before the next run, so that a bad node does not use up all retries at once. */
static int64_t run_back_off(unsigned count)
{
    int64_t delay_ms = FAILURE_FIRST_MS << (count - 1 < 6 ? count - 1 : 6);
    return delay_ms < FAILURE_LAST_MS ? delay_ms : FAILURE_LAST_MS;
}

static void phase_on_run_requeued(struct decision *decision, struct phase *phase)
{
    static const char reason[] = "Slurm has requeued its job";
    const struct run *run = decision->fact->run;
    if (phase->run != run || phase->hold != HOLD_FAILURE)
        return;
    if (run->seat->allocation->is_closed) /* Slurm holds the job, which is cancelled */
        phase_follow(decision, phase, false, run_back_off(1), reason);
    else
        phase_go_on(decision, phase, reason);
}

static void phase_on_run_cancelled(struct decision *decision, struct phase *phase)
{
    bool is_same = phase->run == decision->fact->run && phase->hold == HOLD_FAILURE;
    if (is_same && phase->fail_finally)
        phase_fail(decision, phase, HOLD_FAILURE, phase->reason);
}

/* The run has failed, or is lost: a remedy, another run, or a person, as the counts say. */
static void phase_retry(struct decision *decision, struct run *run)
{
    struct phase *phase = run->phase;
    bool is_lost = run->outcome == OUTCOME_LOST;
    bool died_on_resume = run->cause == CAUSE_EXIT && run->resume_path && run->has_begun &&
                          run->last_step <= run->resume_step;
    bool is_refused = decision->event->kind == EV_REFUSED;
    if (run_is_given(run) && !run->has_begun && !is_refused) { /* it never had an allocation */
        phase_again(decision, phase, run->message);
        return;
    }
    const char *cause = is_lost ? NULL : run_cause_name(run->cause),
               *checks = decision->event->checks;
    if (remedy_begin(decision, phase, checks, cause, run->message))
        return;
    unsigned count = is_lost ? ++phase->losses : ++phase->failures[run->cause];
    unsigned allowed = is_lost ? LOST_RETRIES_MAX : run_cause_retries(run->cause);
    char reason[REASON_MAX];
    const char *what = is_lost ? run_outcome_name(OUTCOME_LOST) : run_cause_name(run->cause);
    bool is_said = text_starts(run->message, what); /* guard failed: ... */
    (void)snprintf(reason, sizeof reason, "%s%s%s%.150s%s", is_said ? "" : what,
                   count <= 1 ? ""
                   : is_said  ? "again"
                              : " again",
                   run->message[0] && (!is_said || count > 1) ? ": " : "", run->message,
                   remedy_is_used_up(phase, checks, cause) ? "; its remedies are used up" : "");
    if (died_on_resume && !phase->must_resume) /* its checkpoint may be unusable */
        phase_again(decision, phase, reason);
    /* A job that was refused would be refused again. Only a person can help. */
    else if (count <= allowed && !is_refused)
        phase_follow(decision, phase, false, run_back_off(count), reason);
    else
        phase_fail(decision, phase, HOLD_FAILURE, reason);
}

/* Whether another run has to show that the checkpoint of a run that succeeded can be resumed. If
 * the program ended by itself, no step is left to resume. */
static bool run_must_resume(const struct run *run)
{
    return run->phase->must_resume && !run->resume_path && run->phase->checkpoint_path &&
           run->wish == WISH_NONE && run->stop_reason == STOP_UNTIL;
}

static void phase_on_run_ended(struct decision *decision, struct phase *phase)
{
    struct run *run = decision->fact->run;
    char reason[REASON_MAX];
    if (run->requeues && !run_is_stuck(run)) {
        const char *outcome = run_outcome_name(run->outcome);
        if (run->wish != WISH_NONE || !phase_is_stalled(decision, phase, run, outcome))
            phase_go_on(decision, phase, outcome);
        return;
    }
    if (run->wish == WISH_CANCEL) {
        phase_cancel(decision, phase, phase->reason);
        return;
    }
    if (run->outcome == OUTCOME_SUCCEEDED) {
        phase->stalls = 0;
        if (run_must_resume(run)) {
            phase_follow(decision, phase, true, 0, "to see whether it resumes");
            return;
        }
        phase_move(decision, phase, PHASE_DECIDING, "");
        decision_add(decision, FX_JUDGE, phase->workflow)->phase = phase;
        return;
    }
    if (run->wish == WISH_HOLD) {
        phase_let_go(decision, phase);
        phase_move_held(decision, phase, HOLD_USER, phase->reason);
        return;
    }
    switch (run->outcome) {
    case OUTCOME_PREEMPTED:
    case OUTCOME_TIMED_OUT:
        phase_again(decision, phase, run_outcome_name(run->outcome));
        break;
    case OUTCOME_CANCELLED:
        (void)snprintf(reason, sizeof reason, "%.150s, and not by phased",
                       run->message[0] ? run->message : "the job was cancelled in Slurm");
        phase_fail(decision, phase, HOLD_FAILURE, reason);
        break;
    case OUTCOME_FAILED:
    case OUTCOME_LOST:
        phase_retry(decision, run);
        break;
    case OUTCOME_NONE:
    case OUTCOME_SUCCEEDED:
    case OUTCOME_COUNT:
        assert(false && "an ended run has an outcome");
    }
}

/* --- What was worked out ---------------------------------------------------------------------- */

static void phase_on_judged(struct decision *decision, struct phase *phase)
{
    const struct core_event *event = decision->event;
    const char *message = event->message ? event->message : "";
    char reason[REASON_MAX];
    if (phase->remedy) /* the news came twice: a remedy is being worked out already */
        return;
    if (event->gate == GATE_INCOMPLETE && !phase->fail_finally) {
        phase_let_go(decision, phase); /* also for a member: it was not measured, but is not out */
        phase_move_held(decision, phase, HOLD_GATE, message);
    } else if (event->gate != GATE_PASSED) {
        if (remedy_begin(decision, phase, event->checks, NULL, message))
            return;
        bool is_used_up = remedy_is_used_up(phase, event->checks, NULL);
        (void)snprintf(reason, sizeof reason, "%.200s%s", message,
                       is_used_up ? "; its remedies are used up" : "");
        phase_fail(decision, phase, HOLD_GATE, reason);
    } else if (phase->promote_manual) {
        phase_let_go(decision, phase);
        phase_move_held(decision, phase, HOLD_MANUAL,
                        event->is_ungated ? "its run succeeded; waiting for `promote`"
                                          : "its gate passed; waiting for `promote`");
    } else {
        phase_succeed(decision, phase, event->is_ungated ? "no gate" : "promoted by its gate", "");
    }
}

/* Whether the revision leaves this text as it is. Both texts may be NULL. */
static bool revision_keeps(const char *text, const char *revised)
{
    return text && revised ? text_equal(text, revised) : text == revised;
}

/* Whether a run with these params can be given the same allocation. */
static bool revision_keeps_shape(const struct phase *phase, const struct phase *revised)
{
    return phase->nodes == revised->nodes && phase->gpus_per_node == revised->gpus_per_node &&
           phase->cpus_per_node == revised->cpus_per_node &&
           revision_keeps(phase->gpu_type, revised->gpu_type) &&
           revision_keeps(phase->alternatives, revised->alternatives) &&
           text_equal(phase->slurm_options, revised->slurm_options);
}

static void phase_choose_place(struct phase *phase, enum remedy_resume resume,
                               const struct core_event *event)
{
    switch (resume) {
    case REMEDY_CHECKPOINT:
        break;
    case REMEDY_START:
        phase_choose_checkpoint(phase, "", 0);
        break;
    case REMEDY_PREVIOUS:
        phase_choose_checkpoint(phase, event->path ? event->path : "", event->step);
        break;
    case REMEDY_RESUME_COUNT:
        assert(false && "a place to resume from");
    }
}

static void phase_on_remedied(struct decision *decision, struct phase *phase)
{
    const struct core_event *event = decision->event;
    const struct remedy *remedy = phase->remedy;
    char reason[REASON_MAX];
    unsigned used, times;
    if (!remedy) /* the phase was cancelled meanwhile */
        return;
    struct run *run = phase->run;
    bool was_judged = run->outcome == OUTCOME_SUCCEEDED;
    phase_count_remedies(phase, remedy->cause, &used, &times);
    (void)snprintf(reason, sizeof reason, "remedy %.64s %u of %u%s: %.160s", remedy->cause, used,
                   times, event->revision ? "" : " is impossible",
                   event->message ? event->message : "");
    remedy_forget(decision, phase);
    if (!event->revision) {
        phase_fail(decision, phase, was_judged ? HOLD_GATE : HOLD_FAILURE, reason);
        return;
    }
    /* If the node may be to blame, the next run begins on another node, after a while. */
    bool is_by_node = run_cause_retries(run->cause) > 0;
    bool can_stay =
        !is_by_node && revision_keeps_shape(phase, &event->revision->phases[phase->index]);
    run->is_remedied = true;
    decision_save_run(decision, run);
    phase->stalls = 0;
    phase_adopt_revision(decision, phase, event->revision);
    phase_choose_place(phase, remedy->resume, event);
    phase_follow(decision, phase, can_stay, is_by_node ? FAILURE_FIRST_MS : 0, reason);
}

/* --- The table -------------------------------------------------------------------------------- */

typedef void phase_handler(struct decision *decision, struct phase *phase);

/* A row for each state. An empty cell: the fact changes nothing, or comes too late. */
static phase_handler *const phase_table[PHASE_STATE_COUNT][FACT_COUNT] = {
    [PHASE_QUEUED] = {[FACT_RUN_BEGAN] = phase_on_run_began, [FACT_RUN_ENDED] = phase_on_run_ended},
    [PHASE_ACTIVE] = {[FACT_RUN_WAITS] = phase_on_run_waits, [FACT_RUN_ENDED] = phase_on_run_ended},
    [PHASE_DECIDING] = {[EV_JUDGED] = phase_on_judged, [EV_REMEDIED] = phase_on_remedied},
    [PHASE_HELD] = {[FACT_RUN_REQUEUED] = phase_on_run_requeued,
                    [FACT_RUN_CANCELLED] = phase_on_run_cancelled},
};

void phase_on_fact(struct decision *decision, const struct fact *fact)
{
    phase_handler *handler = phase_table[fact->phase->state][fact->kind];
    if (handler)
        handler(decision, fact->phase);
}
