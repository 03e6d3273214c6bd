/* Phases side by side: which jobs share an allocation, and what that means for each of them.
 *
 * A job that is submitted can be a host; its guests are the jobs of the phases beside it. Guests
 * have no dealings with Slurm. What becomes of the host is theirs too: job_settle() compares the
 * two after every event, whatever it was, so that nothing of the host can be missed. */
#include "daemon/core/step.h"

#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct phase *phase_anchor(const struct phase *phase)
{
    return phase->beside ? phase->beside : phase;
}

/* --- Joining ---------------------------------------------------------------------------------- */

/* Whether this run keeps its allocation long enough for another to join it. In one that has begun
 * only a run that trains is worth joining: all others may be at their end. */
static bool run_holds_open(const struct run *run, const struct job *host)
{
    if (run->state == RUN_ENDED || run->wish != WISH_NONE)
        return false;
    return !host->started_ms || run->state == RUN_RUNNING;
}

static bool job_is_open(const struct step *step, const struct job *host, const struct run *run,
                        const struct phase *phase)
{
    if (host->ended || host->is_closed || run->phase == phase ||
        phase_anchor(run->phase) != phase_anchor(phase) || !run_holds_open(run, host))
        return false;
    return phase_has_shape(phase, run->phase, host) &&
           (!host->started_ms || phase_has_time(phase, host, step->now_ms));
}

struct job *job_to_join(const struct step *step, const struct phase *phase)
{
    const struct workflow *workflow = phase->workflow;
    for (size_t i = workflow->run_count; i-- > 0;) {
        const struct run *run = workflow->runs[i];
        struct job *host = job_host(run->job);
        if (job_is_open(step, host, run, phase))
            return host;
    }
    return NULL;
}

static bool job_slot_is_taken(const struct workflow *workflow, const struct job *host,
                              unsigned slot)
{
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *run = workflow->runs[i];
        if (run->state != RUN_ENDED && job_host(run->job) == host && run->job->slot == slot)
            return true;
    }
    return false;
}

unsigned job_free_slot(const struct workflow *workflow, const struct job *host)
{
    unsigned slot = 0;
    while (job_slot_is_taken(workflow, host, slot))
        slot++;
    return slot;
}

/* --- What becomes of the host ----------------------------------------------------------------- */

/* True when there was anything new. */
static bool job_copy(struct job *guest, const struct job *host)
{
    bool is_news =
        guest->slurm_id != host->slurm_id || guest->time_s != host->time_s ||
        guest->restarts != host->restarts || guest->started_ms != host->started_ms ||
        guest->absent_since_ms != host->absent_since_ms || !text_equal(guest->state, host->state) ||
        !text_equal(guest->reason, host->reason) || !text_equal(guest->nodes, host->nodes);
    guest->slurm_id = host->slurm_id;
    guest->time_s = host->time_s;
    guest->restarts = host->restarts;
    guest->submitted_ms = host->submitted_ms;
    guest->started_ms = host->started_ms;
    guest->absent_since_ms = host->absent_since_ms;
    memcpy(guest->state, host->state, sizeof guest->state);
    memcpy(guest->reason, host->reason, sizeof guest->reason);
    memcpy(guest->nodes, host->nodes, sizeof guest->nodes);
    return is_news;
}

static void job_follow(struct step *step, struct run *run, struct job *host)
{
    struct job *guest = run->job;
    bool is_new = !guest->slurm_id && host->slurm_id;
    bool restarts = host->restarts > guest->restarts;
    bool is_missed = host->absent_since_ms && host->absent_since_ms != guest->absent_since_ms;
    if (is_new)
        job_adopt(step, run, guest, host->slurm_id);
    if (job_copy(guest, host))
        step_save_job(step, run, guest);
    if (restarts)
        job_on_restarts(step, run);
    else if (is_missed && run->state != RUN_ENDED) /* its end may have been missed */
        (void)step_do(step, FX_READ_OUTCOME, run);
    if (run->state == RUN_PENDING && host->started_ms)
        run_move(step, run, RUN_STARTING, host->nodes);
}

/* The host was refused, or was given up before it was submitted. */
static void job_never_came(struct step *step, struct run *run, const struct job *host)
{
    char message[REASON_MAX];
    run->job->ended = true;
    step_save_job(step, run, run->job);
    if (run->state == RUN_ENDED)
        return;
    (void)snprintf(message, sizeof message, "refused by Slurm: %.200s", host->reason);
    if (run->wish == WISH_NONE)
        run_end(step, run, OUTCOME_FAILED, CAUSE_LAUNCH, message);
    else
        run_end(step, run, OUTCOME_CANCELLED, CAUSE_NONE, "not submitted any more");
}

void job_join(struct step *step, struct run *run, struct job *host)
{
    struct job *guest = run->job;
    assert(guest->host == host && !host->host && !host->ended);
    guest->restarts = host->restarts; /* those before are not its own */
    guest->absent_since_ms = host->absent_since_ms;
    job_run(run->phase->workflow, host)->idle_ms = 0;
    job_follow(step, run, host);
}

void job_settle(struct step *step, struct workflow *workflow)
{
    size_t count = workflow->job_count; /* those that follow have joined as they are */
    for (size_t i = 0; i < count; i++) {
        struct job *guest = workflow->jobs[i], *host = guest->host;
        if (!host || guest->ended)
            continue;
        struct run *run = job_run(workflow, guest);
        if (host->ended && !host->slurm_id) {
            job_never_came(step, run, host);
            continue;
        }
        job_follow(step, run, host);
        if (host->ended)
            job_end(step, workflow, guest);
    }
}

/* --- Leaving ---------------------------------------------------------------------------------- */

bool job_is_idle(const struct workflow *workflow, const struct job *job)
{
    for (size_t i = 0; i < workflow->run_count; i++)
        if (job_host(workflow->runs[i]->job) == job && workflow->runs[i]->state != RUN_ENDED)
            return false;
    return true;
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
