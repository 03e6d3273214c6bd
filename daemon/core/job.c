/* What Slurm tells of jobs: submissions that came about or not, states, absence. */
#include "daemon/core/step.h"

#include "lib/text.h"

#include <assert.h>
#include <stdio.h>

/* --- Who wants it ----------------------------------------------------------------------------- */

int64_t run_patience(const struct run *run)
{
    return run->told_ms + 1000 * (int64_t)run->phase->stop_s + CANCEL_MARGIN_MS;
}

bool job_is_wanted(const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *other = workflow->runs[i];
        if (other == run || other->state == RUN_ENDED || job_host(other->job) != job_host(run->job))
            continue;
        bool saves =
            other->has_begun && (!run->has_begun || run_patience(other) > run_patience(run));
        if (other->wish == WISH_NONE || saves)
            return true;
    }
    return false;
}

void job_cancel(struct step *step, struct run *run)
{
    struct job *host = job_host(run->job);
    if (host->ended)
        return;
    host->is_closed = true;
    step_do(step, FX_CANCEL_JOB, run)->job = host;
}

void job_withdraw(struct step *step, struct run *run)
{
    if (job_is_wanted(run))
        (void)step_do(step, FX_TELL_STOP, run);
    else
        job_cancel(step, run);
}

/* --- What Slurm answers ----------------------------------------------------------------------- */

static void job_set_reason(struct job *job, const char *reason)
{
    (void)snprintf(job->reason, sizeof job->reason, "%s", reason ? reason : "");
}

static void job_stop_asking(struct step *step, struct run *run, struct job *job)
{
    job->is_asked = false;
    step_done_job(step, FX_SUBMIT, run, job);
    step_done_job(step, FX_LOOKUP, run, job);
}

/* Whether what becomes of the job may matter to the run: it is its own, or may become it. */
static bool job_matters(const struct run *run, const struct job *job)
{
    return run->job == job || rival_is_open(run, job);
}

/* When to ask again, after one more try without success. */
static int64_t job_back_off(struct step *step, struct job *job)
{
    int64_t delay_ms = RETRY_FIRST_MS << (job->tries < 5 ? job->tries : 5);
    job->tries++;
    return step->now_ms + (delay_ms < RETRY_LAST_MS ? delay_ms : RETRY_LAST_MS);
}

void job_adopt(struct step *step, struct run *run, struct job *job, uint32_t slurm_id)
{
    job->slurm_id = slurm_id;
    job->submitted_ms = step->now_ms;
    job_set_reason(job, "");
    step_save_job(step, run, job);
    step_tell(step, FACT_JOB_KNOWN, run, job);
}

void job_on_submitted(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *run = job_run(workflow, job);
    job_stop_asking(step, run, job);
    job->tries = 0;
    if (!job->ended && !job->slurm_id)
        job_adopt(step, run, job, step->event->slurm_id);
}

bool core_job_is_vain(const struct run *run, const struct job *job)
{
    if (job->first)
        return job->ended || run->state == RUN_ENDED || rival_is_vain(run, job);
    return run->state != RUN_SUBMITTING || (run->wish != WISH_NONE && !job_is_wanted(run));
}

bool job_gives_up(struct step *step, struct run *run)
{
    if (run->state != RUN_SUBMITTING || !core_job_is_vain(run, run->job))
        return false;
    run->job->ended = true;
    step_save_job(step, run, run->job);
    step_tell(step, FACT_JOB_GIVEN_UP, run, run->job);
    return true;
}

void job_on_refused(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *run = job_run(workflow, job);
    job_stop_asking(step, run, job);
    if (job->ended || (!job->first && run->state != RUN_SUBMITTING))
        return;
    job_set_reason(job, step->event->message);
    if (job->first && rival_drop(step, run, job))
        return;
    job->ended = true;
    step_save_job(step, run, job);
    step_tell(step, FACT_JOB_REFUSED, run, job);
}

void job_on_limited(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *run = job_run(workflow, job);
    if (step->event->retry_ms && !core_job_is_vain(run, job)) { /* it was not tried, and waits on */
        job_set_reason(job, step->event->message);
        step_save_job(step, run, job);
        job_ask(step, FX_SUBMIT, run, job, step->event->retry_ms);
        return;
    }
    job_stop_asking(step, run, job);
    if (job->first ? job->ended || rival_gives_up(step, run, job)
                   : run->state != RUN_SUBMITTING || job_gives_up(step, run))
        return;
    job_set_reason(job, step->event->message);
    if (job->tries >=
        LIMITED_TRIES_SAID) { /* Slurm has one word for what passes and what does not */
        char reason[REASON_MAX];
        (void)snprintf(reason, sizeof reason,
                       "%.120s; still so after %u tries: a limit that waiting does not lift? See "
                       "`sacctmgr show assoc,qos`",
                       job->reason, job->tries);
        job_set_reason(job, reason);
    }
    step_save_job(step, run, job);
    job_ask(step, FX_SUBMIT, run, job, job_back_off(step, job));
}

void job_on_unsure(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *run = job_run(workflow, job);
    job_stop_asking(step, run, job);
    if (job->slurm_id || job->ended)
        return;
    job_set_reason(job, step->event->message);
    step_save_job(step, run, job);
    job_ask(step, FX_LOOKUP, run, job, job_back_off(step, job));
}

void job_on_unknown(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *run = job_run(workflow, job);
    job_stop_asking(step, run, job);
    if (job->slurm_id || (job->first ? !rival_is_open(run, job) : run->state != RUN_SUBMITTING))
        return;
    /* Slurm forgets jobs some minutes after their end: what the run's folder says comes first. */
    step_tell(step, FACT_JOB_MISSED, run, job);
}

/* Any of the rivals may have claimed the run's folder, and told there what became of it. */
static void job_end_rival(struct step *step, struct run *run, struct job *job)
{
    if (!rival_is_open(run, job)) {
        (void)rival_drop(step, run, job); /* nobody waits for it */
        return;
    }
    if (!rival_drop(step, run, job) && !run->silent_since_ms)
        run->silent_since_ms = step->now_ms;
    (void)step_do(step, FX_READ_OUTCOME, run); /* at once */
}

/* When the job ended: as Slurm says, else when the daemon first missed it. Nobody pays for the time
 * in which nobody saw the job. */
static int64_t job_end_ms(const struct step *step, const struct job *job)
{
    int64_t since_ms = job->started_ms ? job->started_ms : job->submitted_ms;
    int64_t ended_ms = step->event->seen.ended_ms;
    if (!ended_ms)
        ended_ms = job->absent_since_ms ? job->absent_since_ms : step->now_ms;
    if (ended_ms < since_ms) /* Slurm's clock may be behind, or ahead */
        ended_ms = since_ms;
    return ended_ms < step->now_ms ? ended_ms : step->now_ms;
}

void job_end(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *run = job_run(workflow, job);
    job->ended = true;
    job->ended_ms = job_end_ms(step, job);
    job->end_seen_ms = job->absent_since_ms ? 0 : step->now_ms;
    step_save_job(step, run, job);
    step_done_job(step, FX_CANCEL_JOB, run, job);
    step_done_job(step, FX_BEGIN_JOB, run, job);
    if (job->first && (run->job != job || rival_is_open(run, job))) {
        job_end_rival(step, run, job);
        return;
    }
    for (size_t i = 0; i < workflow->run_count; i++)
        if (workflow->runs[i]->job == job)
            step_done(step, FX_TELL_END, workflow->runs[i]);
    step_tell(step, FACT_JOB_ENDED, run, job);
}

/* Slurm holds the job: nobody will ever start it, for any of its runs. */
static void job_on_stuck(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *own = job_run(workflow, job);
    if (job->first && (own->job != job || rival_is_open(own, job))) {
        rival_withdraw(step, own, job);
        return;
    }
    job_cancel(step, own);
    for (size_t i = 0; i < workflow->run_count; i++)
        if (job_host(workflow->runs[i]->job) == job)
            step_tell(step, FACT_JOB_STUCK, workflow->runs[i], job);
}

/* What a pending job waits for that can be helped. */
static void job_on_pending(struct step *step, struct workflow *workflow, struct job *job)
{
    const struct core_event *event = step->event;
    struct run *run = job_run(workflow, job);
    if (event->seen.is_stuck)
        job_on_stuck(step, workflow, job);
    else if (event->seen.is_waiting && job->restarts && job_matters(run, job) &&
             (run->wish == WISH_NONE || job_is_wanted(run)))
        (void)step_do_job(step, FX_BEGIN_JOB, run, job);
}

static void job_warn(struct step *step, struct run *run, const struct job *job, const char *what)
{
    struct core_effect *warning = step_add(step, FX_WARNING, run->phase->workflow);
    warning->run = run;
    (void)snprintf(warning->message, sizeof warning->message,
                   "job %u was over, and Slurm has it again (%s): %s", job->slurm_id,
                   step->event->seen.state, what);
}

/* The run of the job has not ended, so no other run was begun in its place. */
static void job_revive(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *newest = job_run(workflow, job);
    job_warn(step, newest, job,
             newest->wish == WISH_NONE ? "its run goes on" : "its run is stopped again");
    for (size_t i = 0; i < workflow->run_count; i++) {
        struct run *run = workflow->runs[i];
        if (run->state == RUN_ENDED || (job_host(run->job) != job && !rival_is_open(run, job)))
            continue;
        struct job *own = job_host(run->job) == job ? run->job : job; /* a guest's, or a rival */
        own->ended = job->ended = false;
        own->is_closed = job->is_closed = false;
        own->ended_ms = job->ended_ms = own->started_ms = job->started_ms = 0;
        step_save_job(step, run, own);
        step_save_job(step, run, job);
        step_tell(step, FACT_JOB_BACK, run, job);
    }
}

/* Slurm has told that this job is over, or did not know it for long, and has it now: a controller
 * that was restored from an older state starts such jobs again. Another run may have taken the
 * place of the job's run since. */
static void job_on_back(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *run = job_run(workflow, job);
    if (step->event->slurm_id)
        job->slurm_id = step->event->slurm_id;
    if (!job_is_idle(workflow, job) || rival_is_open(run, job)) {
        job_revive(step, workflow, job);
        return;
    }
    if (!job->is_back) {
        job_warn(step, run, job, "it is cancelled");
        step_save_job(step, run, job);
    }
    job->is_back = true;
    (void)step_do_job(step, FX_CANCEL_JOB, run, job); /* once more, if it has not helped */
}

static void job_on_gone(struct step *step, struct run *run, struct job *job)
{
    job->is_back = false;
    step_done_job(step, FX_CANCEL_JOB, run, job);
}

void job_on_seen(struct step *step, struct workflow *workflow, struct job *job)
{
    const struct core_event *event = step->event;
    struct run *run = job_run(workflow, job);
    if (job->ended && event->seen.is_final)
        job_on_gone(step, run, job);
    else if (job->ended)
        job_on_back(step, workflow, job);
    if (job->ended)
        return;
    if (!job->slurm_id) /* seen before the submission's answer */
        job_adopt(step, run, job, event->slurm_id);
    const char *reason = event->seen.reason ? event->seen.reason : "";
    const char *nodes = event->seen.nodes ? event->seen.nodes : "";
    if (event->seen.is_stuck && !*nodes)
        nodes = job->nodes; /* where its launch failed, if it was seen there */
    bool is_news = job->absent_since_ms || !text_equal(job->state, event->seen.state) ||
                   !text_equal(job->reason, reason) || !text_equal(job->nodes, nodes);
    job->absent_since_ms = 0;
    (void)snprintf(job->state, sizeof job->state, "%s", event->seen.state);
    if (nodes != job->nodes)
        (void)snprintf(job->nodes, sizeof job->nodes, "%s", nodes);
    job_set_reason(job, reason);
    if (event->seen.is_final) {
        job_end(step, workflow, job);
        return;
    }
    if (event->seen.restarts > job->restarts) {
        job->restarts = event->seen.restarts;
        job->started_ms = 0;
        if (job_matters(run, job))
            step_tell(step, FACT_JOB_RESTARTED, run, job);
        is_news = true;
    }
    if (event->seen.is_running && !job->started_ms) {
        job->started_ms = event->seen.started_ms ? event->seen.started_ms : step->now_ms;
        is_news = true;
    }
    if (event->seen.limit_s && event->seen.limit_s != job->time_s) {
        job->time_s = event->seen.limit_s; /* of the partition, or a person's */
        is_news = true;
    }
    if (is_news)
        step_save_job(step, run, job);
    if (!event->seen.is_running) {
        job_on_pending(step, workflow, job);
        return;
    }
    step_done_job(step, FX_BEGIN_JOB, run, job);
    if (job_matters(run, job))
        step_tell(step, FACT_JOB_RUNS, run, job);
}

void job_on_absent(struct step *step, struct workflow *workflow, struct job *job)
{
    struct run *run = job_run(workflow, job);
    if (job->ended)
        job_on_gone(step, run, job);
    if (job->ended || !job->slurm_id)
        return;
    /* Nobody looked for a while: the daemon or the controller was away. */
    bool is_new = step->now_ms - job->absent_seen_ms > ABSENCE_GAP_MS;
    job->absent_seen_ms = step->now_ms;
    if (!job->absent_since_ms || is_new) {
        job->absent_since_ms = step->now_ms;
        step_save_job(step, run, job);
        if (job_matters(run, job))
            step_tell(step, FACT_JOB_MISSED, run, job);
    }
    bool is_idle = job_is_idle(workflow, job) && !rival_is_open(run, job);
    if (is_idle || step->now_ms - job->absent_since_ms >= ABSENCE_MS) {
        job->state[0] = '\0';
        job_end(step, workflow, job);
    }
}
