/* How the lead ends. It writes the outcome, gives the daemon time to take the last entries, and
 * ends the agents. If the run continues, it then asks Slurm to requeue the job. */
#include "worker/lead/lead_state.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "worker/lead/grace.h"
#include "worker/lead/lead.h"

#include <stdio.h>

enum {
    LEAD_AGENTS_MS = 12000, /* for the agents to end */
    LEAD_DRAIN_MS = 2000,   /* for the daemon to take the last entries */
    LEAD_HURRY_MS = 1000,   /* replaces both, when other jobs wait for the nodes */
    LEAD_WRITE_MS = 5000,   /* the deadline for writing the outcome */
    LEAD_WRITE_AGAIN_MS = 250,
};

void lead_close(struct lead *lead)
{
    job_step_close(lead->job_step);
    lead->job_step = NULL;
    commands_close(&lead->commands);
    uv_close((uv_handle_t *)&lead->term, NULL);
    uv_close((uv_handle_t *)&lead->interrupt, NULL);
    uv_close((uv_handle_t *)&lead->limit_signal, NULL);
    uv_close((uv_handle_t *)&lead->yield, NULL);
    uv_close((uv_handle_t *)&lead->limit_timer, NULL);
    uv_close((uv_handle_t *)&lead->timer, NULL);
    uv_close((uv_handle_t *)&lead->later, NULL);
    uv_close((uv_handle_t *)&lead->look, NULL);
    uv_close((uv_handle_t *)&lead->hang.timer, NULL);
    uv_close((uv_handle_t *)&lead->claim.timer, NULL);
    requeue_close(&lead->requeue);
}

void lead_requeue_over(void *context)
{
    struct lead *lead = context;
    if (lead->job_step)
        job_step_kill(lead->job_step);
    else
        lead_close(lead);
}

static void lead_requeue(struct lead *lead)
{
    uv_timer_stop(&lead->timer);
    if (lead->is_guest)
        lead->exit_code = GUEST_REQUEUE;
    requeue_handle(&lead->requeue, lead->is_guest ? REQUEUE_PASS_ON : REQUEUE_ASK);
}

/* The agents have not ended in time, and a requeue ends them, too. Their journals are complete,
 * unless the disk is full. An agent then waits 10 s for the daemon to take the last entries, but
 * other jobs wait for the nodes. */
static void lead_agents_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (lead->requeue.state == REQUEUE_WANTED)
        lead_requeue(lead);
    else if (lead->job_step)
        job_step_kill(lead->job_step);
}

static void lead_forgotten(void *context, bool is_so)
{
    (void)is_so;
    lead_close(context);
}

static void lead_exit(struct lead *lead)
{
    bool may_be_preempted = lead->was_interrupted || lead->life.restarts > 0;
    uv_timer_stop(&lead->timer);
    if (lead->is_final && may_be_preempted && !lead->is_guest)
        grace_forget(&lead->loop, lead->life.job_id, lead_forgotten, lead);
    else
        lead_close(lead);
}

void lead_leave_stepless(struct lead *lead)
{
    if (lead->run)
        return; /* the outcome is not written yet */
    if (lead->requeue.state == REQUEUE_WANTED)
        lead_requeue(lead);
    else if (lead->requeue.state == REQUEUE_NONE || lead->requeue.state == REQUEUE_OVER)
        lead_exit(lead);
}

static void lead_leave_written(struct lead *lead)
{
    bool is_hurried = lead->requeue.state != REQUEUE_NONE;
    /* The agents write their last entries while the lead writes its own. */
    if (lead->job_step) {
        job_step_send(lead->job_step, AGENT_END, NULL);
        lead_set_timer(lead, lead_agents_done, is_hurried ? LEAD_HURRY_MS : LEAD_AGENTS_MS);
    }
    lead_run_close(lead->run, is_hurried ? LEAD_HURRY_MS : LEAD_DRAIN_MS);
    lead_run_close(lead->known, 0);
    lead->run = lead->known = NULL;
    if (!lead->job_step)
        lead_leave_stepless(lead);
}

static void lead_write_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    struct error err;
    if (lead_run_write(lead->run, &err) == 0) {
        lead_leave_written(lead);
        return;
    }
    if (clock_steady_ms() < lead->write_by_ms) {
        uv_timer_start(&lead->timer, lead_write_done, LEAD_WRITE_AGAIN_MS, 0);
        return;
    }
    /* The next lead of this job, or the daemon, will read the outcome from the journals. */
    fprintf(stderr, "phase-worker lead: %s\n", err.message);
    lead_leave_written(lead);
}

void lead_leave(struct lead *lead)
{
    if (lead->state == LEAD_LEAVING)
        return;
    const struct outcome *outcome = &lead->run->outcome;
    lead->state = LEAD_LEAVING;
    lead->is_final = !outcome->requeues && !lead->run->is_requeued && !lead->run->is_overtaken;
    lead->exit_code = outcome->kind != OUTCOME_SUCCEEDED && !outcome->requeues;
    lead->write_by_ms = clock_steady_ms() + LEAD_WRITE_MS;
    uv_timer_stop(&lead->later);
    uv_timer_stop(&lead->timer);
    lead_write_done(&lead->timer);
}
