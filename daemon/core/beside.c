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
        step_tell(step, FACT_JOB_RESTARTED, run, guest);
    else if (is_missed)
        step_tell(step, FACT_JOB_MISSED, run, guest);
    if (host->started_ms)
        step_tell(step, FACT_JOB_RUNS, run, guest);
}

/* The host was refused, or was given up before it was submitted. */
static void job_never_came(struct step *step, struct run *run, const struct job *host)
{
    run->job->ended = true;
    memcpy(run->job->reason, host->reason, sizeof host->reason);
    step_save_job(step, run, run->job);
    step_tell(step, run->wish == WISH_NONE ? FACT_JOB_REFUSED : FACT_JOB_GIVEN_UP, run, run->job);
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
