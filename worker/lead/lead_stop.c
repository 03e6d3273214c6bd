/* How a run is stopped and concluded, by whatever cause. Slurm says why it stops a run: the ranks
 * stop at once, and the run is concluded when Slurm has answered. */
#include "worker/lead/lead_state.h"

#include "lib/text.h"
#include "worker/clock.h"
#include "worker/lead/inquiry.h"
#include "worker/protocol/assignment.h"

enum {
    LEAD_LADDER_MS = 15000,  /* for agents to have done what a stop or a kill demands */
    LEAD_TERM_MARGIN_S = 30, /* a stop so near the limit is the limit's */
    LEAD_ASK_MAX = 2,
};

/* --- The end of a run ------------------------------------------------------------------------- */

static void lead_linger_done(uv_timer_t *timer)
{
    lead_leave(timer->data);
}

void lead_conclude(struct lead *lead)
{
    struct lead_run *run = lead->run;
    if (lead->is_asking || run->is_ended)
        return; /* Slurm's answer, or its absence, comes within seconds */
    uv_timer_stop(&lead->timer);
    for (unsigned i = 0; i < lead->count; i++)
        if (lead->agents[i].node && !lead->agents[i].is_ended)
            lead_run_add_lost(run, lead->agents[i].node);
    lead_run_end(run);
    lead->state = LEAD_LINGERING;
    bool wants_requeue = run->outcome.requeues && !run->is_requeued && !run->is_overtaken;
    lead->requeue = wants_requeue ? LEAD_REQUEUE_WANTED : LEAD_REQUEUE_NO;
    /* After a stop from outside nothing follows in this allocation. */
    enum outcome_kind kind = run->outcome.kind;
    bool goes_on =
        lead->step && !run->is_overtaken && (kind == OUTCOME_SUCCEEDED || kind == OUTCOME_FAILED);
    if (goes_on && run->assignment->linger_s > 0)
        uv_timer_start(&lead->timer, lead_linger_done, (uint64_t)run->assignment->linger_s * 1000,
                       0);
    else
        lead_leave(lead);
}

bool lead_all_ended(const struct lead *lead)
{
    unsigned ended = 0;
    for (unsigned i = 0; i < lead->count; i++)
        ended += lead->agents[i].is_ended;
    return ended == lead->count;
}

/* The agents have not done in time what they were told. */
void lead_ladder_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (!lead->step)
        return;
    if (lead->is_killing) {
        step_kill(lead->step); /* its end concludes the run */
        return;
    }
    lead->is_killing = true;
    step_send(lead->step, "kill");
    uv_timer_start(timer, lead_ladder_done, LEAD_LADDER_MS, 0);
}

static void lead_tell_stop(struct lead *lead, const char *verb, unsigned seconds)
{
    if (!lead->step || lead->state != LEAD_RUNNING)
        return;
    step_send(lead->step, "%s %u", verb, seconds);
    uv_timer_start(&lead->timer, lead_ladder_done, (uint64_t)seconds * 1000 + LEAD_LADDER_MS, 0);
}

void lead_stop(struct lead *lead, unsigned seconds)
{
    lead_tell_stop(lead, "stop", seconds);
}

/* The same, when Slurm is sending SIGTERM to all steps of the job. */
static void lead_relay_stop(struct lead *lead)
{
    lead_tell_stop(lead, lead->is_exposed ? "expect" : "relay",
                   (unsigned)lead->run->assignment->save_time_s);
}

/* --- A stop from outside ---------------------------------------------------------------------- */

bool lead_is_at_limit(const struct lead *lead, int margin_s)
{
    return lead->end_time > 0 && lead->end_time - clock_calendar_s() <= margin_s;
}

static void lead_asked(void *context, const struct inquiry_answer *answer)
{
    struct lead *lead = context;
    lead->is_asking = false;
    if (!lead->run || lead->run->is_ended)
        return;
    /* The signal that the lead got a moment ago may have reached scontrol too. */
    if (!answer->state[0] && ++lead->unanswered < LEAD_ASK_MAX) {
        lead->is_asking = true;
        inquiry_start(&lead->loop, lead->life.job_id, lead_asked, lead);
        return;
    }
    /* Of a job that is being ended it is the time of that end. */
    if (answer->end_time > 0 && text_equal(answer->state, "RUNNING"))
        lead->end_time = answer->end_time;
    const struct lead_run_evidence evidence = {
        .answer = answer,
        .complaint = lead->step ? step_complaint(lead->step) : lead->complaint,
        .is_at_limit = lead_is_at_limit(lead, LEAD_TERM_MARGIN_S),
        .was_launching = lead->state == LEAD_LAUNCHING,
    };
    bool is_slurms = lead_run_decide_by(lead->run, &evidence);
    /* Again, if the run began meanwhile; and where Slurm does not end the job, it has told no steps
     * but that of the agents. */
    if (is_slurms)
        lead_relay_stop(lead);
    else
        lead_stop(lead, (unsigned)lead->run->assignment->save_time_s);
    if (!lead->step || lead_all_ended(lead))
        lead_conclude(lead);
}

void lead_ask(struct lead *lead)
{
    if (lead->is_asking || lead->run->is_decided)
        return;
    lead->is_asking = true;
    lead->unanswered = 0;
    inquiry_start(&lead->loop, lead->life.job_id, lead_asked, lead);
}

/* The ranks stop at once, as there may be little time; the cause is found meanwhile. */
void lead_interrupted(struct lead *lead)
{
    lead->was_interrupted = true;
    if (lead->state == LEAD_LINGERING) {
        lead_leave(lead);
        return;
    }
    if (lead->state == LEAD_LEAVING) {
        lead_leave_terminated(lead);
        return;
    }
    if (lead->run->is_decided || lead->is_asking)
        return;
    lead->interrupted_ms = clock_steady_ms();
    lead_relay_stop(lead);
    lead_ask(lead);
}

/* --- A run that does not begin ---------------------------------------------------------------- */

void lead_launch_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    const struct phase_holder *holder = &lead->claim.holder;
    if (holder->number && lead->ready == lead->count)
        (void)lead_run_decide(lead->run, OUTCOME_FAILED, OUTCOME_CAUSE_LAUNCH,
                              "job %lld runs this phase, and neither it nor Slurm says that it is "
                              "over: cancel it",
                              (long long)holder->life.job_id);
    (void)lead_run_decide(lead->run, OUTCOME_FAILED, OUTCOME_CAUSE_LAUNCH,
                          "only %u of %u agents were there after %d s", lead->ready, lead->count,
                          LEAD_LAUNCH_MS / 1000);
    if (lead->step)
        step_kill(lead->step); /* its end concludes the run */
}
