/* What becomes of a run: what its worker and its job tell, and what is wanted of it. */
#include "daemon/core/step.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run_set_message(struct run *run, const char *message)
{
    (void)snprintf(run->message, sizeof run->message, "%s", message ? message : "");
}

void run_stop(struct step *step, struct run *run, enum run_wish wish, const char *reason)
{
    assert(wish != WISH_NONE && run->state != RUN_ENDED);
    phase_set_reason(run->phase, reason);
    step_save_phase(step, run->phase);
    run->wish = wish;
    run->told_ms = step->now_ms;
    step_save_run(step, run);
    if (run->state == RUN_RUNNING)
        run_move(step, run, RUN_STOPPING, wish == WISH_HOLD ? "hold" : "cancel");
    if (run->has_begun)
        (void)step_do(step, FX_TELL_STOP, run); /* at once */
    else if (run->state != RUN_SUBMITTING && !rival_is_open(run, run->job))
        job_withdraw(step, run); /* else when the submission's answer has come */
}

static void run_blame(struct step *step, struct run *run, const char *node, size_t size)
{
    struct core_effect *blame = step_add(step, FX_BLAME_NODE, run->phase->workflow);
    blame->run = run;
    (void)snprintf(blame->message, sizeof blame->message, "%.*s", (int)size, node);
}

/* Keeps new jobs away from a node that takes runs down. What the lead says of it counts, also that
 * it is none; without a lead's word, a job's only node is it. A preflight may find several. */
static void run_blame_node(struct step *step, struct run *run)
{
    bool is_told = step->event->kind == EV_RUN_ENDED;
    const char *node = is_told ? step->event->node : run->job->nodes;
    bool is_by_node = run->cause == CAUSE_NODE_FAIL || run->cause == CAUSE_LAUNCH ||
                      run->cause == CAUSE_PREFLIGHT;
    bool may_be_several = is_told && run->cause == CAUSE_PREFLIGHT;
    if (!is_by_node || !node || strpbrk(node, may_be_several ? "[" : ",["))
        return;
    for (size_t size; *node; node += size + (node[size] == ',')) {
        size = strcspn(node, ",");
        if (size > 0)
            run_blame(step, run, node, size);
    }
}

static void run_end(struct step *step, struct run *run, enum run_outcome outcome,
                    enum run_cause cause, const char *message)
{
    assert(outcome != OUTCOME_NONE && (outcome == OUTCOME_FAILED) == (cause != CAUSE_NONE));
    run->outcome = outcome;
    run->cause = cause;
    bool is_with_job = run->job->ended && run->job->ended_ms > run->submitted_ms;
    if (!run->ended_ms)
        run->ended_ms = is_with_job ? run->job->ended_ms : step->now_ms;
    run_set_message(run, message);
    char text[REASON_MAX];
    (void)snprintf(text, sizeof text, "%s%s%s%s%.150s", run_outcome_name(outcome),
                   cause != CAUSE_NONE ? " " : "", cause != CAUSE_NONE ? run_cause_name(cause) : "",
                   run->message[0] ? ": " : "", run->message);
    run_move(step, run, RUN_ENDED, text);
    run_blame_node(step, run);
    /* Nobody has heard from its worker that it ended, which may come yet. */
    if (step->event->kind != EV_RUN_ENDED || step->event->run != run)
        (void)step_do(step, FX_SEAL, run); /* at once */
    if (run->last_step > run->resume_step) /* of failed preflights those in a row count */
        run->phase->failures[CAUSE_PREFLIGHT] = 0;
    step_done(step, FX_READ_OUTCOME, run);
    step_done(step, FX_TELL_STOP, run);
    step_done(step, FX_TELL_NEXT, run);
    step_tell(step, FACT_RUN_ENDED, run, run->job);
}

void run_set_resume(struct run *run, const char *path, int64_t at)
{
    char *copy = path[0] ? xstrdup(path) : NULL;
    free(run->resume_path);
    run->resume_path = copy;
    run->resume_step = copy ? at : -1;
}

void run_on_started(struct step *step, struct run *run)
{
    const struct core_event *event = step->event;
    if (run->state == RUN_ENDED || run->has_begun)
        return;
    rival_decide(run, event->token, event->slurm_id);
    struct job *job = run->job;
    if (job->first && job->ended && !run->silent_since_ms)
        run->silent_since_ms = step->now_ms;
    run->has_begun = true;
    run->phase->is_chosen = false;
    if (run->phase->is_anew)
        step_save_phase(step, run->phase);
    run->phase->is_anew = false;
    run->started_ms = event->started_ms ? event->started_ms : step->now_ms;
    if (event->path)
        run_set_resume(run, event->path, event->step);
    if (event->slurm_id)
        job->slurm_id = job_host(job)->slurm_id = event->slurm_id;
    if (!job_host(job)->started_ms)
        job_host(job)->started_ms = run->started_ms;
    if (job->host)
        step_save_job(step, run, job->host);
    job->started_ms = job_host(job)->started_ms;
    step_save_job(step, run, job);
    step_done(step, FX_TELL_NEXT, run);
    run_move(step, run, RUN_RUNNING, event->message ? event->message : "");
    if (run->wish != WISH_NONE)
        run_stop(step, run, run->wish, run->phase->reason);
}

void run_on_stopping(struct step *step, struct run *run)
{
    if (run->state != RUN_RUNNING)
        return;
    run->told_ms = step->now_ms;
    run_move(step, run, RUN_STOPPING, step->event->message ? step->event->message : "");
}

void run_on_ended(struct step *step, struct run *run)
{
    const struct core_event *event = step->event;
    if (run->state == RUN_ENDED)
        return;
    rival_decide(run, event->token, event->slurm_id);
    run->has_begun = true;
    run->exit_code = event->exit_code;
    run->signal = event->signal;
    if (event->started_ms)
        run->started_ms = event->started_ms;
    if (event->ended_ms) /* its node's clock may be ahead */
        run->ended_ms = event->ended_ms < step->now_ms ? event->ended_ms : step->now_ms;
    if (event->step > run->last_step)
        run->last_step = event->step;
    run->requeues = event->requeues &&
                    (event->outcome == OUTCOME_PREEMPTED || event->outcome == OUTCOME_TIMED_OUT);
    if (run->requeues)
        run->job->started_ms = job_host(run->job)->started_ms = 0; /* its time begins anew */
    run_end(step, run, event->outcome, event->cause, event->message);
}

/* What the journals, and else Slurm's last word on the job, say of a run that left no outcome. */
static void run_end_by_job(struct step *step, struct run *run)
{
    static const struct {
        const char *state;
        enum run_outcome outcome;
        enum run_cause cause;
        const char *message;
    } words[] = {
        {"timeout", OUTCOME_TIMED_OUT, CAUSE_NONE, "ended by Slurm at its time limit"},
        {"preempted", OUTCOME_PREEMPTED, CAUSE_NONE, "ended by Slurm"},
        {"node_fail", OUTCOME_FAILED, CAUSE_NODE_FAIL, "Slurm lost a node"},
        {"boot_fail", OUTCOME_FAILED, CAUSE_NODE_FAIL, "a node did not boot"},
        {"out_of_memory", OUTCOME_FAILED, CAUSE_OOM, "killed by Slurm: out of memory"},
        {"deadline", OUTCOME_FAILED, CAUSE_LAUNCH, "Slurm could not start it by its deadline"},
        {"cancelled", OUTCOME_CANCELLED, CAUSE_NONE, ""},
    };
    const struct job *job = run->job;
    if (step->event->outcome == OUTCOME_SUCCEEDED) { /* only the lead did not live to tell of it */
        run->has_begun = true;
        run_end(step, run, OUTCOME_SUCCEEDED, CAUSE_NONE, "");
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!text_equal(job->state, words[i].state))
            continue;
        run_end(step, run, words[i].outcome, words[i].cause, words[i].message);
        return;
    }
    char message[REASON_MAX];
    if (!job->state[0]) {
        run_end(step, run, OUTCOME_LOST, CAUSE_NONE, "Slurm does not know its job any more");
    } else if (!run->has_begun) {
        const char *said = step->event->message ? step->event->message : "";
        (void)snprintf(message, sizeof message, "%s%s%.100s; Slurm: %s, %.50s",
                       run->in_place || job->host ? "its allocation was gone before it could go on"
                                                  : "its job ended before the worker had started",
                       said[0] ? ": " : "", said, job->state, job->reason);
        run_end(step, run, OUTCOME_FAILED, CAUSE_LAUNCH, message);
    } else {
        (void)snprintf(message, sizeof message, "its worker left no outcome; Slurm: %s, %.150s",
                       job->state, job->reason);
        run_end(step, run, OUTCOME_LOST, CAUSE_NONE, message);
    }
}

void run_on_silent(struct step *step, struct run *run)
{
    step_done(step, FX_READ_OUTCOME, run);
    if (rival_goes_on(step, run))
        return;
    if (run->state == RUN_SUBMITTING && !run->job->slurm_id &&
        !run->job->ended) { /* there never was a job */
        if (!run->job->host && !run->job->is_asked && !job_gives_up(step, run))
            job_ask(step, FX_SUBMIT, run, run->job, 0);
        return;
    }
    if (run->state == RUN_ENDED || !run->job->ended)
        return;
    bool was_stopped_early = run->wish != WISH_NONE && !run->has_begun;
    if (was_stopped_early || step->now_ms - job_quiet_since_ms(run->job) >= OUTCOME_GRACE_MS)
        run_end_by_job(step, run);
}

void run_on_sealed(struct step *step, struct run *run)
{
    step_done(step, FX_SEAL, run);
}

void run_on_progress(struct step *step, struct run *run)
{
    if (step->event->step <= run->last_step || run->state == RUN_ENDED)
        return;
    if (run->last_step < 0)
        run->begin_step = step->event->begin_step;
    run->last_step = step->event->step;
    step_save_run(step, run);
}

/* When a job whose run does not stop is cancelled; INT64_MAX: that is not wanted. */
static int64_t run_cancel_time(const struct run *run)
{
    if (run->state != RUN_STOPPING || run->wish == WISH_NONE || run->job->ended ||
        job_is_wanted(run))
        return INT64_MAX;
    return run_patience(run);
}

static int64_t run_silence_time(const struct run *run)
{
    if (run->state == RUN_ENDED || !run->silent_since_ms || !run->job->ended)
        return INT64_MAX;
    return run->silent_since_ms + OUTCOME_GRACE_MS;
}

/* When to cancel a job that Slurm shows as running although all its runs have ended; 0: this was
 * just seen. Slurm does not hear of the end of a batch step that was killed, and keeps the nodes
 * until it asks them again, usually half an hour later. */
static int64_t run_leave_time(const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    if (run->state != RUN_ENDED || run->job->ended || run->job->host ||
        !text_equal(run->job->state, "running") || job_run(workflow, run->job) != run ||
        !job_is_idle(workflow, run->job))
        return INT64_MAX;
    return run->idle_ms ? run->idle_ms + 1000 * (int64_t)run->phase->linger_s + LEAVE_MS : 0;
}

static void run_leave(struct step *step, struct run *run)
{
    if (run->idle_ms && !run->job->is_closed) {
        struct core_effect *warning = step_add(step, FX_WARNING, run->phase->workflow);
        warning->run = run;
        (void)snprintf(warning->message, sizeof warning->message,
                       "Slurm shows job %u as running %lld s after its last run: it is cancelled",
                       run->job->slurm_id, (long long)(step->now_ms - run->idle_ms) / 1000);
    }
    if (run->idle_ms)
        job_cancel(step, run);
    run->idle_ms = step->now_ms; /* and again after as long, should that fail */
}

void run_on_time(struct step *step, struct run *run)
{
    if (step->now_ms >= run_leave_time(run))
        run_leave(step, run);
    if (step->now_ms >= run_cancel_time(run)) {
        run->told_ms = step->now_ms; /* and again after as long, should that fail */
        step_save_run(step, run);
        job_cancel(step, run);
    }
    if (step->now_ms >= run_silence_time(run)) {
        run->silent_since_ms = step->now_ms;
        (void)step_do(step, FX_READ_OUTCOME, run);
    }
}

/* --- What is told of its job ------------------------------------------------------------------ */

void run_on_job_known(struct step *step, const struct fact *fact)
{
    struct run *run = fact->run;
    if (run->state == RUN_SUBMITTING)
        run_move(step, run, RUN_PENDING, "");
    if (run->state != RUN_ENDED && run->wish != WISH_NONE && !run->has_begun && !fact->job->first)
        job_withdraw(step, run);
}

void run_on_job_runs(struct step *step, const struct fact *fact)
{
    if (fact->run->state == RUN_PENDING)
        run_move(step, fact->run, RUN_STARTING, fact->job->nodes);
}

void run_on_job_missed(struct step *step, const struct fact *fact)
{
    if (fact->run->state != RUN_ENDED)
        (void)step_do(step, FX_READ_OUTCOME, fact->run);
}

/* While Slurm requeues a job it looks cancelled for a moment, and its lead may have believed it. */
void run_on_job_restarted(struct step *step, const struct fact *fact)
{
    struct run *run = fact->run;
    if (run->state != RUN_ENDED)
        (void)step_do(step, FX_READ_OUTCOME, run);
    else if (run->outcome == OUTCOME_CANCELLED && run->wish == WISH_NONE)
        step_tell(step, FACT_RUN_REQUEUED, run, fact->job);
}

void run_on_job_refused(struct step *step, const struct fact *fact)
{
    char message[REASON_MAX];
    if (fact->run->state == RUN_ENDED)
        return;
    (void)snprintf(message, sizeof message, "refused by Slurm: %.200s", fact->job->reason);
    run_end(step, fact->run, OUTCOME_FAILED, CAUSE_LAUNCH, message);
}

void run_on_job_given_up(struct step *step, const struct fact *fact)
{
    if (fact->run->state != RUN_ENDED)
        run_end(step, fact->run, OUTCOME_CANCELLED, CAUSE_NONE, "not submitted any more");
}

void run_on_job_stuck(struct step *step, const struct fact *fact)
{
    char message[REASON_MAX];
    if (fact->run->state == RUN_ENDED)
        return;
    (void)snprintf(message, sizeof message, "held by Slurm: %.200s", fact->job->reason);
    run_end(step, fact->run, OUTCOME_FAILED, CAUSE_LAUNCH, message);
}

/* A wish to stop the run still holds: Slurm may have forgotten the cancellation. */
void run_on_job_back(struct step *step, const struct fact *fact)
{
    struct run *run = fact->run;
    run->silent_since_ms = 0;
    step_save_run(step, run);
    if (run->wish != WISH_NONE)
        run_stop(step, run, run->wish, run->phase->reason);
}

/* The run may have left its outcome in a file. */
void run_on_job_ended(struct step *step, const struct fact *fact)
{
    struct run *run = fact->run;
    if (run->state == RUN_ENDED)
        return;
    if (!run->silent_since_ms)
        run->silent_since_ms = step->now_ms;
    (void)step_do(step, FX_READ_OUTCOME, run); /* at once */
}

/* --- Time ------------------------------------------------------------------------------------- */

int64_t run_deadline(const struct run *run)
{
    int64_t cancel = run_cancel_time(run), silence = run_silence_time(run);
    int64_t leave = run_leave_time(run), first = cancel < silence ? cancel : silence;
    return leave < first ? leave : first;
}

bool run_is_busy(const struct run *run, int64_t now_ms)
{
    if (run->state == RUN_ENDED) /* even if another one has begun in a job of its own */
        return !run->job->ended && now_ms - run->ended_ms < 60 * 1000 && !job_is_wanted(run);
    return run->state == RUN_STARTING || run->state == RUN_STOPPING || run->silent_since_ms ||
           (run->state == RUN_PENDING &&
            now_ms - run->submitted_ms < (run->in_place ? 300 : 60) * 1000);
}
