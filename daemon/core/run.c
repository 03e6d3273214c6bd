/* What becomes of a run: what its worker and its job tell, and what people want. */
#include "daemon/core/decision.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Slurm or a job says may not be UTF-8, or be cut inside a letter. */
static void run_set_message(struct run *run, const char *message)
{
    (void)snprintf(run->message, sizeof run->message, "%s", message ? message : "");
    text_make_utf8(run->message);
}

void run_stop(struct decision *decision, struct run *run, enum run_wish wish, const char *reason)
{
    assert(wish != WISH_NONE && run->state != RUN_ENDED);
    phase_set_reason(run->phase, reason);
    decision_save_phase(decision, run->phase);
    run->wish = wish;
    run->told_ms = decision->now_ms;
    decision_save_run(decision, run);
    if (run->state == RUN_RUNNING)
        run_move(decision, run, RUN_STOPPING, run_wish_name(wish));
    if (run->has_begun)
        (void)decision_do(decision, FX_TELL_STOP, run); /* at once */
    else if (run->state != RUN_SUBMITTING && !seat_is_open(run))
        allocation_withdraw(decision, run); /* otherwise when the submission is answered */
}

static void run_blame(struct decision *decision, struct run *run, const char *node, size_t size)
{
    struct core_effect *blame = decision_add(decision, FX_BLAME_NODE, run->phase->workflow);
    blame->run = run;
    (void)snprintf(blame->message, sizeof blame->message, "%.*s", (int)size, node);
}

/* Whether the lead may have left before it heard of the run. Either the lead ran already when the
 * run was added. Or the lead wanted a requeue, so that the time of the job began anew, and Slurm
 * did not requeue the job: the job then ends well. */
static bool run_was_missed(const struct run *run)
{
    const struct allocation *allocation = run->seat->allocation;
    bool came_later = allocation->started_ms && allocation->started_ms < run->submitted_ms;
    return run_is_given(run) && (came_later || allocation->state == CLUSTER_JOB_COMPLETED);
}

/* Keeps new jobs away from a node that makes runs fail. The lead says which node that is, or that
 * no node is to blame. If the lead says nothing and the job has only one node, that node is to
 * blame. There is one exception: if the lead may have left before it heard of the run, the node has
 * started that lead. A preflight may find several nodes. */
static void run_blame_node(struct decision *decision, struct run *run)
{
    bool is_told = decision->event->kind == EV_RUN_ENDED;
    const char *node = is_told ? decision->event->node : run->seat->allocation->nodes;
    if (!is_told && run->cause == CAUSE_LAUNCH && run_was_missed(run))
        return;
    bool is_by_node = run->cause == CAUSE_NODE_FAIL || run->cause == CAUSE_LAUNCH ||
                      run->cause == CAUSE_PREFLIGHT;
    bool may_be_several = is_told && run->cause == CAUSE_PREFLIGHT;
    if (!is_by_node || !node || strpbrk(node, may_be_several ? "[" : ",["))
        return;
    for (size_t size; *node; node += size + (node[size] == ',')) {
        size = strcspn(node, ",");
        if (size > 0)
            run_blame(decision, run, node, size);
    }
}

static void run_end(struct decision *decision, struct run *run, enum run_outcome outcome,
                    enum run_cause cause, const char *message)
{
    assert(outcome != OUTCOME_NONE && (outcome == OUTCOME_FAILED) == (cause != CAUSE_NONE));
    run->outcome = outcome;
    run->cause = cause;
    const struct allocation *allocation = run->seat->allocation;
    bool is_with_job = allocation->ended && allocation->ended_ms > run->submitted_ms;
    if (!run->ended_ms)
        run->ended_ms = is_with_job ? allocation->ended_ms : decision->now_ms;
    run_set_message(run, message);
    char text[REASON_MAX];
    if (outcome == OUTCOME_CANCELLED && run->wish == WISH_HOLD)
        (void)snprintf(text, sizeof text, "%s", stop_reason_name(STOP_HELD));
    else
        (void)snprintf(text, sizeof text, "%s%s%s%s%.150s", run_outcome_name(outcome),
                       cause != CAUSE_NONE ? " " : "",
                       cause != CAUSE_NONE ? run_cause_name(cause) : "",
                       run->message[0] ? ": " : "", run->message);
    run_move(decision, run, RUN_ENDED, text);
    run_blame_node(decision, run);
    /* The worker has not told the end of the run, and may tell it later. */
    if (decision->event->kind != EV_RUN_ENDED || decision->event->run != run)
        (void)decision_do(decision, FX_SEAL, run); /* at once */
    if (run->last_step > run->resume_step)         /* only preflights that fail in a row count */
        run->phase->failures[CAUSE_PREFLIGHT] = 0;
    decision_done(decision, FX_READ_OUTCOME, run);
    decision_done(decision, FX_TELL_STOP, run);
    decision_done(decision, FX_TELL_NEXT, run);
    decision_tell_run(decision, FACT_RUN_ENDED, run);
}

void run_set_resume(struct run *run, const char *path, int64_t at)
{
    char *copy = path[0] ? xstrdup(path) : NULL;
    free(run->resume_path);
    run->resume_path = copy;
    run->resume_step = copy ? at : -1;
}

typedef void run_handler(struct decision *decision, struct run *run);

static void run_on_started(struct decision *decision, struct run *run)
{
    const struct core_event *event = decision->event;
    seat_decide(run, event->token, event->slurm_id);
    const struct allocation *allocation = run->seat->allocation;
    if (allocation_is_candidate(allocation) && allocation->ended && !run->silent_since_ms)
        run->silent_since_ms = decision->now_ms;
    run->has_begun = true;
    if (run->phase->is_chosen || run->phase->is_anew)
        decision_save_phase(decision, run->phase);
    run->phase->is_chosen = run->phase->is_anew = false;
    run->started_ms = decision_began_ms(decision, event->started_ms, run_earliest_ms(run));
    if (event->path)
        run_set_resume(run, event->path, event->step);
    decision_done(decision, FX_TELL_NEXT, run);
    run_move(decision, run, RUN_RUNNING, event->message ? event->message : "");
    allocation_reported(decision, run);
    if (run->wish != WISH_NONE)
        run_stop(decision, run, run->wish, run->phase->reason);
}

/* A worker may stop a run so that the phase is held, for example before a full disk. What a person
 * wants of the run goes first. */
static void run_on_stopping(struct decision *decision, struct run *run)
{
    if (decision->event->hold_reason && run->wish == WISH_NONE) {
        run->wish = WISH_HOLD;
        phase_set_reason(run->phase, decision->event->hold_reason);
        decision_save_phase(decision, run->phase);
    }
    run->stop_reason = decision->event->stop_reason;
    run->told_ms = decision->now_ms;
    run_move(decision, run, RUN_STOPPING, decision->event->message ? decision->event->message : "");
}

static void run_on_ended(struct decision *decision, struct run *run)
{
    const struct core_event *event = decision->event;
    seat_decide(run, event->token, event->slurm_id);
    allocation_learn_id(decision, run);
    run->has_begun = true;
    run->exit_code = event->exit_code;
    run->signal = event->signal;
    if (event->started_ms && !run->started_ms) {
        run->started_ms = decision_began_ms(decision, event->started_ms, run_earliest_ms(run));
        allocation_pull_start(decision, run);
    }
    if (!run->job_started_ms) /* no rank began */
        run->job_started_ms = run->seat->allocation->started_ms;
    if (event->ended_ms)
        run->ended_ms =
            decision_ended_ms(decision, run->started_ms, event->started_ms, event->ended_ms);
    if (event->step > run->last_step)
        run->last_step = event->step;
    run->requeues = event->requeues &&
                    (event->outcome == OUTCOME_PREEMPTED || event->outcome == OUTCOME_TIMED_OUT);
    if (run->requeues) {
        run->seat->allocation->started_ms = 0; /* its time begins anew */
        decision_save_job(decision, run->seat->allocation);
    }
    run_end(decision, run, event->outcome, event->cause, event->message);
}

static void run_end_stuck(struct decision *decision, struct run *run)
{
    char message[REASON_MAX];
    const char *reason = run->seat->allocation->reason;
    (void)snprintf(message, sizeof message, "held by Slurm%s%.200s", *reason ? ": " : "", reason);
    run_end(decision, run, OUTCOME_FAILED, CAUSE_LAUNCH, message);
}

/* The run left no outcome. Its journals say how it ended, or else Slurm's last word on the job
 * does. */
static void run_end_by_job(struct decision *decision, struct run *run)
{
    static const struct {
        enum cluster_job_state state;
        enum run_outcome outcome;
        enum run_cause cause;
        const char *message;
    } rows[] = {
        {CLUSTER_JOB_TIMEOUT, OUTCOME_TIMED_OUT, CAUSE_NONE, "ended by Slurm at its time limit"},
        {CLUSTER_JOB_PREEMPTED, OUTCOME_PREEMPTED, CAUSE_NONE, "ended by Slurm"},
        {CLUSTER_JOB_NODE_FAIL, OUTCOME_FAILED, CAUSE_NODE_FAIL, "Slurm lost a node"},
        {CLUSTER_JOB_BOOT_FAIL, OUTCOME_FAILED, CAUSE_NODE_FAIL, "a node did not boot"},
        {CLUSTER_JOB_OUT_OF_MEMORY, OUTCOME_FAILED, CAUSE_OOM, "killed by Slurm: out of memory"},
        {CLUSTER_JOB_DEADLINE, OUTCOME_FAILED, CAUSE_LAUNCH,
         "Slurm could not start it by its deadline"},
        {CLUSTER_JOB_CANCELLED, OUTCOME_CANCELLED, CAUSE_NONE, ""},
    };
    const struct allocation *allocation = run->seat->allocation;
    if (decision->event->outcome ==
        OUTCOME_SUCCEEDED) { /* the lead died before it could tell that */
        run->has_begun = true;
        run_end(decision, run, OUTCOME_SUCCEEDED, CAUSE_NONE, "");
        return;
    }
    if (run_is_stuck(run) && allocation->state == CLUSTER_JOB_CANCELLED) {
        run_end_stuck(decision, run);
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (allocation->state != rows[i].state)
            continue;
        run_end(decision, run, rows[i].outcome, rows[i].cause, rows[i].message);
        return;
    }
    char message[REASON_MAX], job[128]; /* such as "failed, NonZeroExitCode" */
    (void)snprintf(job, sizeof job, "%s%s%.100s", cluster_job_state_name(allocation->state),
                   allocation->reason[0] ? ", " : "", allocation->reason);
    if (allocation->state == CLUSTER_JOB_NONE) {
        run_end(decision, run, OUTCOME_LOST, CAUSE_NONE, "Slurm does not know its job any more");
    } else if (!run->has_begun) {
        const char *said = decision->event->message ? decision->event->message : "";
        (void)snprintf(message, sizeof message, "%s%s%.80s; Slurm: %s",
                       run_is_given(run) ? "the job ended before this run could begin in it"
                                         : "its job ended before the worker had started",
                       said[0] ? ": " : "", said, job);
        run_end(decision, run, OUTCOME_FAILED, CAUSE_LAUNCH, message);
    } else {
        (void)snprintf(message, sizeof message, "its worker left no outcome; Slurm: %s", job);
        run_end(decision, run, OUTCOME_LOST, CAUSE_NONE, message);
    }
}

static void run_on_silent(struct decision *decision, struct run *run)
{
    const struct allocation *allocation = run->seat->allocation;
    decision_done(decision, FX_READ_OUTCOME, run);
    if (run_is_stuck(run) && !allocation->ended) {
        run_end_stuck(decision, run);
        return;
    }
    if (allocation_may_come(decision, run) || !allocation->ended)
        return;
    bool was_stopped_early = run->wish != WISH_NONE && !run->has_begun;
    if (was_stopped_early ||
        decision->now_ms - allocation_quiet_since_ms(allocation) >= OUTCOME_GRACE_MS)
        run_end_by_job(decision, run);
}

/* The run has ended, so its folder changes nothing any more. */
static void run_on_read(struct decision *decision, struct run *run)
{
    decision_done(decision, FX_READ_OUTCOME, run);
}

static void run_on_sealed(struct decision *decision, struct run *run)
{
    decision_done(decision, FX_SEAL, run);
}

static void run_on_progress(struct decision *decision, struct run *run)
{
    if (decision->event->step <= run->last_step)
        return;
    if (run->last_step < 0)
        run->begin_step = decision->event->begin_step;
    run->last_step = decision->event->step;
    decision_save_run(decision, run);
}

/* --- Facts about its allocation ----------------------------------------------------------- */

static void run_on_job_known(struct decision *decision, struct run *run)
{
    run_move(decision, run, RUN_PENDING, "");
    if (run->wish != WISH_NONE && !allocation_is_candidate(decision->fact->allocation))
        allocation_withdraw(decision, run);
}

static void run_on_job_runs(struct decision *decision, struct run *run)
{
    run_move(decision, run, RUN_STARTING, decision->fact->allocation->nodes);
}

/* Slurm has requeued the job, and an answer from before said that the job runs. Or Slurm has
 * forgotten the start. */
static void run_on_job_waits(struct decision *decision, struct run *run)
{
    struct allocation *allocation = decision->fact->allocation;
    if (run->seat->allocation != allocation)
        return; /* another candidate runs */
    allocation->started_ms = 0;
    decision_save_job(decision, allocation);
    run_move(decision, run, RUN_PENDING, "");
}

static void run_on_job_missed(struct decision *decision, struct run *run)
{
    (void)decision_do(decision, FX_READ_OUTCOME, run);
}

/* Slurm has requeued the job, so the run costs nothing more, although it has not ended. The job may
 * wait for hours until its next lead tells when the run ended. */
static void run_on_job_restarted(struct decision *decision, struct run *run)
{
    if (!run->ended_ms) {
        run->ended_ms = decision->now_ms;
        decision_save_run(decision, run);
    }
    run_on_job_missed(decision, run);
}

/* A requeue may be seen after the run has begun in the requeued job: the run began after Slurm had
 * last started the job. */
static void run_on_job_runs_on(struct decision *decision, struct run *run)
{
    int64_t started_ms = decision->event->seen.started_ms;
    if (!run->ended_ms || !started_ms || run->started_ms + CLOCK_SAME_MS < started_ms)
        return;
    run->ended_ms = 0;
    allocation_pull_start(decision, run);
    decision_save_run(decision, run);
}

/* While Slurm requeues a job, the job looks cancelled for a moment. The lead may have believed
 * that. */
static bool run_looked_cancelled(const struct run *run)
{
    return run->outcome == OUTCOME_CANCELLED && run->wish == WISH_NONE;
}

static void run_on_job_requeued(struct decision *decision, struct run *run)
{
    if (run_looked_cancelled(run))
        decision_tell_run(decision, FACT_RUN_REQUEUED, run);
}

static void run_on_job_over(struct decision *decision, struct run *run)
{
    if (run_looked_cancelled(run))
        decision_tell_run(decision, FACT_RUN_CANCELLED, run);
}

static void run_on_job_refused(struct decision *decision, struct run *run)
{
    char message[REASON_MAX];
    (void)snprintf(message, sizeof message, "refused by Slurm: %.200s",
                   decision->fact->allocation->reason);
    run_end(decision, run, OUTCOME_FAILED, CAUSE_LAUNCH, message);
}

static void run_on_job_given_up(struct decision *decision, struct run *run)
{
    run_end(decision, run, OUTCOME_CANCELLED, CAUSE_NONE,
            "not submitted: no run needs the job any more");
}

/* The job may have had a life before, in which the run came to its end. So the folder is read
 * before the run counts as failed. A run that shall stop ends with its job. */
static void run_on_job_stuck(struct decision *decision, struct run *run)
{
    if (run->wish == WISH_NONE)
        (void)decision_do(decision, FX_READ_OUTCOME, run);
}

/* A wish to stop the run still holds: Slurm may have forgotten the cancellation. */
static void run_on_job_back(struct decision *decision, struct run *run)
{
    run->silent_since_ms = 0;
    decision_save_run(decision, run);
    if (run->wish != WISH_NONE)
        run_stop(decision, run, run->wish, run->phase->reason);
}

/* Slurm shows the job as running although all its runs have ended: after the linger time and some
 * more, the job is cancelled. If a batch step is killed, nobody tells Slurm. Slurm then keeps the
 * nodes until it asks the nodes again, usually half an hour later. A controller that was away
 * learns some time after its return that the job has ended. */
static void run_on_job_stays(struct decision *decision, struct run *run)
{
    const struct allocation *allocation = decision->fact->allocation;
    if (allocation_run(allocation) != run ||
        !allocation_is_left_running(allocation, decision->event))
        return;
    int64_t gap_ms = decision->now_ms - run->idle_seen_ms; /* below 0: the clock was set back */
    run->idle_seen_ms = decision->now_ms;
    if (gap_ms < 0 || gap_ms > ABSENCE_GAP_MS)
        run->idle_ms = decision->now_ms;
    int64_t idle_ms = decision->now_ms - run->idle_ms;
    if (allocation->is_closed || idle_ms < 1000 * (int64_t)run->phase->linger_s + LEAVE_MS)
        return;
    struct core_effect *warning = decision_add(decision, FX_WARNING, run->phase->workflow);
    warning->run = run;
    (void)snprintf(
        warning->message, sizeof warning->message,
        "Slurm shows job %u as running %lld s after its last run: phased cancels the job",
        allocation->slurm_id, (long long)idle_ms / 1000);
    allocation_cancel(decision, run);
}

/* The run may have left its outcome in a file. */
static void run_on_job_ended(struct decision *decision, struct run *run)
{
    if (!run->silent_since_ms) {
        run->silent_since_ms = decision->now_ms;
        decision_save_run(decision, run);
    }
    (void)decision_do(decision, FX_READ_OUTCOME, run); /* at once */
}

void run_catch_up(struct decision *decision, struct run *run)
{
    const struct allocation *allocation = run->seat->allocation;
    if (allocation->slurm_id)
        run_move(decision, run, RUN_PENDING, "");
    if (run->state == RUN_PENDING && allocation->started_ms)
        run_move(decision, run, RUN_STARTING, allocation->nodes);
}

/* --- The table -------------------------------------------------------------------------------- */

/* The cells of each state in which a run has not ended. */
#define RUN_LIVES                                                                                  \
    [EV_RUN_ENDED] = run_on_ended, [EV_RUN_SILENT] = run_on_silent, [EV_SEALED] = run_on_sealed,   \
    [EV_PROGRESS] = run_on_progress, [FACT_JOB_MISSED] = run_on_job_missed,                        \
    [FACT_JOB_REFUSED] = run_on_job_refused, [FACT_JOB_GIVEN_UP] = run_on_job_given_up,            \
    [FACT_JOB_STUCK] = run_on_job_stuck, [FACT_JOB_BACK] = run_on_job_back,                        \
    [FACT_JOB_ENDED] = run_on_job_ended

/* The cells of each state in which a run has not begun. */
#define RUN_WAITS                                                                                  \
    RUN_LIVES, [EV_RUN_STARTED] = run_on_started, [FACT_JOB_RESTARTED] = run_on_job_missed

/* The cells of each state in which a run has begun and has not ended. */
#define RUN_BEGAN                                                                                  \
    RUN_LIVES, [FACT_JOB_RESTARTED] = run_on_job_restarted, [FACT_JOB_RUNS] = run_on_job_runs_on

/* A row for each state. An empty cell: the fact changes nothing, or comes too late. */
static run_handler *const run_table[RUN_STATE_COUNT][FACT_COUNT] = {
    [RUN_SUBMITTING] = {RUN_WAITS, [FACT_JOB_KNOWN] = run_on_job_known},
    [RUN_PENDING] = {RUN_WAITS, [FACT_JOB_RUNS] = run_on_job_runs},
    [RUN_STARTING] = {RUN_WAITS, [FACT_JOB_WAITS] = run_on_job_waits},
    [RUN_RUNNING] = {RUN_BEGAN, [EV_RUN_STOPPING] = run_on_stopping},
    [RUN_STOPPING] = {RUN_BEGAN},
    [RUN_ENDED] = {[EV_RUN_SILENT] = run_on_read,
                   [EV_SEALED] = run_on_sealed,
                   [FACT_JOB_RUNS] = run_on_job_stays,
                   [FACT_JOB_RESTARTED] = run_on_job_requeued,
                   [FACT_JOB_ENDED] = run_on_job_over},
};

static void run_take(struct decision *decision, struct run *run)
{
    run_handler *handler = run_table[run->state][decision->fact->kind];
    if (handler)
        handler(decision, run);
}

void run_on_fact(struct decision *decision, const struct fact *fact)
{
    run_take(decision, fact->run);
}

void run_on_job_fact(struct decision *decision, const struct fact *fact)
{
    struct run *run;
    for (size_t at = 0; (run = allocation_next_run(fact->allocation, &at));)
        run_take(decision, run);
}

/* --- Time ------------------------------------------------------------------------------------- */

/* When to cancel the job of a run that does not stop; INT64_MAX: never. */
static int64_t run_cancel_time(const struct run *run)
{
    if (run->state != RUN_STOPPING || run->wish == WISH_NONE || run->seat->allocation->ended ||
        allocation_is_wanted_by_others(run))
        return INT64_MAX;
    return run_patience(run);
}

static int64_t run_silence_time(const struct run *run)
{
    if (run->state == RUN_ENDED || !run->silent_since_ms || !run->seat->allocation->ended)
        return INT64_MAX;
    return run->silent_since_ms + OUTCOME_GRACE_MS;
}

void run_on_time(struct decision *decision, struct run *run)
{
    if (decision->now_ms >= run_cancel_time(run)) {
        run->told_ms = decision->now_ms; /* the core repeats a cancellation that fails */
        decision_save_run(decision, run);
        allocation_cancel(decision, run);
    }
    if (decision->now_ms >= run_silence_time(run)) {
        run->silent_since_ms = decision->now_ms;
        (void)decision_do(decision, FX_READ_OUTCOME, run);
    }
}

int64_t run_deadline(const struct run *run)
{
    int64_t cancel = run_cancel_time(run), silence = run_silence_time(run);
    return cancel < silence ? cancel : silence;
}

bool run_is_busy(const struct run *run, int64_t now_ms)
{
    if (run->state == RUN_ENDED) /* also if another run has begun in another job */
        return !run->seat->allocation->ended && now_ms - run->ended_ms < 60 * 1000 &&
               !allocation_is_wanted_by_others(run);
    return run->state == RUN_STARTING || run->state == RUN_STOPPING || run->silent_since_ms ||
           (run->state == RUN_PENDING &&
            now_ms - run->submitted_ms < (run->in_place ? 300 : 60) * 1000);
}
