/* A lead must claim a phase before it starts a run (phase_claim.h). This file decides whether it
 * may.
 *
 * The folder of the run must have no tombstone. The lead that holds the phase must have ended: the
 * lead itself or Slurm says so. If a node may still run processes of a run that was given up, the
 * new run waits for their end. It also waits while Slurm is ending the job of that run.
 *
 * An earlier lead of this job may have begun the same run. While a claim cannot be read, nobody
 * knows this. Then the lead looks again before it claims. If the run has been begun, it is over. */
#include "worker/lead/lead_state.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "worker/lead/inquiry.h"
#include "worker/node/agent.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/phase_claim.h"

#include <errno.h>
#include <stdio.h>

enum { LEAD_CLAIM_AGAIN_MS = 2000 };

static void lead_claim_again(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (lead->state == LEAD_LAUNCHING && lead->job_step && lead->ready == lead->count)
        lead->claim.again(lead);
}

static void lead_claim_asked(void *context, const struct inquiry_answer *answer)
{
    struct lead *lead = context;
    lead->claim.is_asking = false;
    if (lead->state != LEAD_LAUNCHING)
        return;
    unsigned number = lead->claim.holder.number;
    bool is_given_up = lead->claim.ending == number;
    int64_t since_ms = is_given_up ? lead->claim.ending_ms : lead->claim.since_ms;
    bool is_over = inquiry_says_over(answer, &lead->claim.holder.life);
    bool is_ending = !is_over && inquiry_says_ending(answer, clock_steady_ms() - since_ms);
    bool is_gone = is_given_up && !is_ending;
    if (is_over)
        lead->claim.passed.over = number;
    if (is_gone)
        lead->claim.gone = number;
    if (is_ending)
        lead_set_timer(lead, lead_launch_done, LEAD_LAUNCH_MS);
    uv_timer_start(&lead->claim.timer, lead_claim_again,
                   is_over || is_gone ? 0 : LEAD_CLAIM_AGAIN_MS, 0);
}

static void lead_claim_ask(struct lead *lead)
{
    lead->claim.is_asking = true;
    inquiry_start(&lead->loop, lead->claim.holder.life.job_id, true, lead_claim_asked, lead);
}

static void lead_claim_warn(struct lead *lead, const char *what, const char *why)
{
    fprintf(stderr, "phase-worker lead: %s: %s\n", what, why);
    lead_run_warn(lead->run, "%s: %s", what, why);
}

/* Waits for a node that was given up. The wait ends when the node reports its end, or after the
 * time that its agent needs to notice and to stop its processes.
 *
 * The agent may be dead, and Slurm alone may know a process on the node, such as a process of an
 * srun in the phase. Slurm gives such a process KillWait between TERM and KILL. So this also waits
 * while Slurm says that it is ending the job. If Slurm does not answer, the run begins.
 *
 * This also waits for a claim that cannot be read, because then Slurm cannot be asked. No clock of
 * this node says when the node was given up. So the time counts from the moment when this lead
 * first saw the claim. */
static void lead_claim_await_end(struct lead *lead, const char *why)
{
    unsigned number = lead->claim.holder.number;
    if (lead->claim.ending != number) {
        lead->claim.ending = number;
        lead->claim.ending_ms = clock_steady_ms();
        printf("phase-worker lead: waiting: %s\n", why);
        lead_set_timer(lead, lead_launch_done, LEAD_LAUNCH_MS);
    }
    bool is_left = clock_steady_ms() - lead->claim.ending_ms >= AGENT_UNTOLD_MS;
    if (is_left && lead->claim.holder.life.job_id > 0 && lead->claim.gone != number) {
        lead_claim_ask(lead);
        return;
    }
    if (is_left) {
        lead->claim.passed.left = number;
        lead_claim_warn(lead, "the run begins anyway", why);
    }
    uv_timer_start(&lead->claim.timer, lead_claim_again, is_left ? 0 : LEAD_CLAIM_AGAIN_MS, 0);
}

/* Looks whether the run may begin, and claims the phase. -EALREADY: the run was begun before. Other
 * errors are those of phase_claim_take(). */
static int lead_claim_take(struct lead *lead, struct error *err)
{
    struct lead_run *run = lead->run;
    if (outcome_is_sealed(run->assignment->file.run_dir, err))
        return -ECANCELED;
    if (run->unread_claim && run->unread_claim == lead->claim.passed.left)
        run->unread_claim = 0; /* the time to wait for it is over */
    if (lead_run_look_again(run, err) == -EAGAIN) {
        lead->claim.holder = (struct phase_holder){.number = run->unread_claim};
        return -EAGAIN;
    }
    if (run->is_ended)
        return error_set(err, -EALREADY, "an earlier lead of this job has begun the run");
    return phase_claim_take(run->assignment, &lead->life, lead->claim.passed, &lead->claim.holder,
                            err);
}

bool lead_claim(struct lead *lead, void (*again)(struct lead *lead))
{
    struct lead_run *run = lead->run;
    struct error err;
    lead->claim.again = again;
    if (lead->claim.is_asking)
        return false;
    unsigned last = lead->claim.holder.number;
    int status = lead_claim_take(lead, &err);
    if (status == -EALREADY) {
        printf("phase-worker lead: %s\n", err.message);
        lead->handle(lead, LEAD_BEGUN);
        return false;
    }
    if (status == -ECANCELED || status == -ESTALE) {
        bool is_sealed = status == -ECANCELED;
        (void)lead_run_decide(run, is_sealed ? OUTCOME_CANCELLED : OUTCOME_FAILED,
                              is_sealed ? CAUSE_NONE : CAUSE_LAUNCH, "%s", err.message);
        lead_conclude(lead);
        return false;
    }
    if (status == -EAGAIN) {
        lead_claim_await_end(lead, err.message);
        return false;
    }
    if (status == -EBUSY) {
        if (last != lead->claim.holder.number || lead->claim.ending) {
            lead->claim.ending = 0; /* the claim was unreadable before */
            lead->claim.since_ms = clock_steady_ms();
            printf("phase-worker lead: waiting: %s\n", err.message);
        }
        if (lead->claim.holder.life.job_id > 0)
            lead_claim_ask(lead);
        else /* another lead has claimed the phase meanwhile */
            uv_timer_start(&lead->claim.timer, lead_claim_again, LEAD_CLAIM_AGAIN_MS, 0);
        return false;
    }
    if (status < 0) /* the run is more important */
        lead_claim_warn(lead, "the phase is not claimed, so another job could run it, too",
                        err.message);
    lead->claim.holder.number = 0;
    return true;
}
