/* How a run is stopped and concluded. If Slurm stops a run, the ranks stop at once. The lead asks
 * Slurm for the reason meanwhile, and concludes the run when Slurm has answered. */
#include "worker/lead/lead_state.h"

#include "lib/clock.h"
#include "worker/lead/inquiry.h"
#include "worker/lead/scontrol.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/orphan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAD_LADDER_MS = 15000,    /* for the agents to finish a stop or a kill */
    LEAD_TERM_MARGIN_S = 30,   /* a stop this close to the time limit comes from the limit */
    LEAD_LIMIT_MARGIN_S = 120, /* SIGUSR2 this close to the limit comes from the limit */
    LEAD_COMPLAINT_MS = 10000, /* an error of srun this long before a stop is not its reason */
    LEAD_ASK_MAX = 2,
    LEAD_ASK_MS = 15000,   /* for Slurm to tell KillWait; less than the default KillWait */
    LEAD_KILL_WAIT_S = 30, /* by default */
};

/* --- The end of a run ------------------------------------------------------------------------- */

static void lead_linger_done(uv_timer_t *timer)
{
    lead_leave(timer->data);
}

static void lead_ask_at_end(struct lead *lead);

/* The signal with which a requeue begins may have reached scontrol, too. Then the lead asks once
 * more. */
static void lead_told_at_end(void *context, const struct inquiry_answer *answer)
{
    struct lead *lead = context;
    lead->is_asking = false;
    if (!lead->run || lead->run->is_ended)
        return;
    if (answer->state == CLUSTER_JOB_NONE && lead->was_interrupted &&
        ++lead->unanswered < LEAD_ASK_MAX) {
        lead_ask_at_end(lead);
        return;
    }
    lead->run->is_checked = true;
    lead_run_check_requeue(lead->run, answer);
    lead_conclude(lead);
}

/* A requeued job that is taken for a finished job is lost. So the lead waits long for a slow
 * controller. A controller that is down delays the end of each run by that time. After a signal
 * Slurm soon kills the lead, too. A signal that comes later does not end this wait. */
static void lead_ask_at_end(struct lead *lead)
{
    lead->is_asking = true;
    if (lead->was_interrupted)
        inquiry_start(&lead->loop, lead->life.job_id, false, lead_told_at_end, lead);
    else
        inquiry_start_patient(&lead->loop, lead->life.job_id, lead_told_at_end, lead);
}

void lead_conclude(struct lead *lead)
{
    struct lead_run *run = lead->run;
    if (lead->is_asking || run->is_ended)
        return; /* the answer of Slurm, or a timeout, comes within seconds */
    uv_timer_stop(&lead->timer);
    lead->hang.is_asked = false; /* nobody waits for an answer any more */
    uv_timer_stop(&lead->hang.timer);
    if (lead->state == LEAD_RUNNING && lead_run_ended_itself(run) && !run->is_checked) {
        lead->unanswered = 0;
        lead_ask_at_end(lead);
        return;
    }
    for (unsigned i = 0; i < lead->count; i++)
        if (lead->agents[i].node && !lead->agents[i].is_ended)
            lead_run_add_lost(run, lead->agents[i].node);
    lead_run_end(run);
    lead->state = LEAD_LINGERING;
    bool wants_requeue = run->outcome.requeues && !run->is_requeued && !run->is_overtaken;
    if (wants_requeue)
        requeue_handle(&lead->requeue, REQUEUE_WANT);
    /* After a stop from outside, or near the limit, no other run follows in this allocation. */
    enum run_outcome kind = run->outcome.kind;
    bool goes_on = lead->job_step && !run->is_overtaken && lead->limit == LEAD_LIMIT_FAR &&
                   !lead->was_interrupted && (kind == OUTCOME_SUCCEEDED || kind == OUTCOME_FAILED);
    if (goes_on && run->assignment->file.linger_s > 0)
        lead_set_timer(lead, lead_linger_done, (uint64_t)run->assignment->file.linger_s * 1000);
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

void lead_ladder_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (!lead->job_step)
        return;
    if (lead->is_killing) {
        job_step_kill(lead->job_step); /* the end of srun concludes the run */
        return;
    }
    lead->is_killing = true;
    job_step_send(lead->job_step, AGENT_KILL, NULL);
    lead_set_timer(lead, lead_ladder_done, LEAD_LADDER_MS);
}

/* Whether the agents were told to stop or to kill. While the lead waits for preflights, the timer
 * is for the preflights. */
static bool lead_is_stopping(const struct lead *lead)
{
    return lead->state == LEAD_RUNNING && !lead->is_checking &&
           uv_is_active((const uv_handle_t *)&lead->timer);
}

/* srun asks each node once to end its task, and then waits without a limit. The lost agent reports
 * nothing more, so only the end of srun can end the run. */
void lead_lost(void *context)
{
    struct lead *lead = context;
    if (lead->state != LEAD_RUNNING || lead_is_stopping(lead))
        return; /* the timer of a stop ends srun, too */
    lead->is_killing = true;
    lead->is_checking = false; /* no ranks start on the other nodes */
    lead_set_timer(lead, lead_ladder_done, LEAD_LADDER_MS);
}

void lead_look(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (!lead->job_step || lead->state == LEAD_LEAVING || lead_is_stopping(lead))
        return; /* the timers of these states end srun, too */
    char *node = orphan_read(lead->orphan);
    if (!node)
        return;
    (void)snprintf(lead->complaint, sizeof lead->complaint, "the agent on %s has lost srun",
                   node); /* may be cut */
    free(node);
    uv_timer_stop(timer);
    job_step_kill(lead->job_step); /* the end of srun concludes the run */
}

static void lead_tell_stop(struct lead *lead, enum agent_command command, unsigned seconds)
{
    char argument[16];
    if (!lead->job_step || lead->state != LEAD_RUNNING)
        return;
    (void)snprintf(argument, sizeof argument, "%u", seconds);
    job_step_send(lead->job_step, command, argument);
    lead->is_checking = false;
    lead_set_timer(lead, lead_ladder_done, (uint64_t)seconds * 1000 + LEAD_LADDER_MS);
}

void lead_stop(struct lead *lead, unsigned seconds)
{
    lead_tell_stop(lead, AGENT_STOP, seconds);
}

/* Stops the ranks while Slurm sends SIGTERM to all job steps of the job. */
static void lead_relay_stop(struct lead *lead, unsigned seconds)
{
    lead_tell_stop(lead, lead->is_exposed ? AGENT_EXPECT : AGENT_RELAY, seconds);
}

/* --- A stop from outside ---------------------------------------------------------------------- */

static bool lead_is_at_limit(const struct lead *lead, int margin_s)
{
    return lead->end_time > 0 && lead->end_time - clock_calendar_s() <= margin_s;
}

bool lead_may_be_at_limit(const struct lead *lead)
{
    int margin_s = lead->run->assignment->save_time_s + LEAD_LIMIT_MARGIN_S;
    return lead->end_time <= 0 || lead_is_at_limit(lead, margin_s);
}

/* A tenth of KillWait is for the outcome, because Slurm kills the lead, too. */
static void lead_kill_wait_told(void *context, int code, const char *output)
{
    struct lead *lead = context;
    const char *line = code == 0 ? strstr(output, "KillWait ") : NULL;
    unsigned wait_s = LEAD_KILL_WAIT_S;
    if (!lead->run || lead->run->is_ended)
        return;
    if (line)
        (void)sscanf(line, "KillWait = %u", &wait_s); /* otherwise the default counts */
    int64_t left_s = wait_s - (wait_s + 9) / 10 - (clock_steady_ms() - lead->interrupted_ms) / 1000;
    lead_relay_stop(lead, left_s > 0 ? (unsigned)left_s : 0);
}

void lead_end_before_kill(struct lead *lead)
{
    const struct scontrol_call call = {
        .arguments = {"show", "config"}, .captured_fd = STDOUT_FILENO, .timeout_ms = LEAD_ASK_MS};
    scontrol_start(&lead->loop, &call, lead_kill_wait_told, lead);
}

static void lead_asked(void *context, const struct inquiry_answer *answer)
{
    struct lead *lead = context;
    lead->is_asking = false;
    if (!lead->run || lead->run->is_ended)
        return;
    /* The signal that stops the lead may have reached scontrol, too. */
    if (answer->state == CLUSTER_JOB_NONE && ++lead->unanswered < LEAD_ASK_MAX) {
        lead->is_asking = true;
        inquiry_start(&lead->loop, lead->life.job_id, false, lead_asked, lead);
        return;
    }
    /* If the job is being ended, EndTime is the time of that end instead of the limit. */
    if (answer->end_time > 0 && answer->state == CLUSTER_JOB_RUNNING)
        lead->end_time = answer->end_time;
    /* While Slurm ends a job, it says whether the limit is the reason. */
    bool is_alive = answer->state == CLUSTER_JOB_RUNNING;
    bool is_ending = answer->state != CLUSTER_JOB_NONE && !is_alive;
    const struct lead_run_facts facts = {
        .answer = answer,
        .complaint = lead->job_step ? job_step_complaint_since(
                                          lead->job_step, lead->interrupted_ms - LEAD_COMPLAINT_MS)
                                    : lead->complaint,
        .signal = lead->signal ? lead->signal : "SIGTERM was sent to the job step",
        .is_at_limit =
            is_ending ? answer->is_timed_out : lead_is_at_limit(lead, LEAD_TERM_MARGIN_S),
        .is_near_limit = is_alive && lead->is_warned && lead_may_be_at_limit(lead),
        .was_launching = lead->state == LEAD_LAUNCHING,
    };
    bool is_slurms = lead_run_decide_by(lead->run, &facts);
    /* Tells the agents again, because the run may have begun meanwhile. If Slurm does not end the
     * job, it has signalled only the job step of the agents. */
    if (is_slurms)
        lead_relay_stop(lead, (unsigned)lead->run->assignment->save_time_s);
    else
        lead_stop(lead, (unsigned)lead->run->assignment->save_time_s);
    bool is_killed = is_slurms && !is_alive; /* not in a grace */
    if (!lead->job_step || lead_all_ended(lead))
        lead_conclude(lead);
    else if (is_killed && !lead->run->assignment->checkpoint_path) /* a save may use all the time */
        lead_end_before_kill(lead);
}

/* Asks Slurm for the reason of a stop, unless the outcome is decided. */
static void lead_ask(struct lead *lead)
{
    if (lead->is_asking || lead->run->is_decided)
        return;
    lead->is_asking = true;
    lead->unanswered = 0;
    inquiry_start(&lead->loop, lead->life.job_id, false, lead_asked, lead);
}

void lead_lose_job_step(struct lead *lead)
{
    lead_ask(lead);
    lead_conclude(lead);
}

void lead_note_signal(struct lead *lead, const char *signal, bool is_warning)
{
    if (lead->is_asking)
        return;
    lead->signal = signal;
    lead->is_warned = is_warning;
}

/* Stops the ranks at once, because little time may be left. Asks for the reason meanwhile. */
void lead_interrupt(struct lead *lead)
{
    if (lead->run->is_decided || lead->is_asking)
        return;
    lead->interrupted_ms = clock_steady_ms();
    lead_relay_stop(lead, (unsigned)lead->run->assignment->save_time_s);
    lead_ask(lead);
}

/* --- A run that does not begin ---------------------------------------------------------------- */

void lead_launch_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    const struct phase_holder *holder = &lead->claim.holder;
    if (holder->number && lead->ready == lead->count)
        (void)lead_run_decide(
            lead->run, OUTCOME_FAILED, CAUSE_LAUNCH,
            "job %lld runs this phase, and nothing says that the job has ended: cancel the job",
            (long long)holder->life.job_id);
    (void)lead_run_decide(lead->run, OUTCOME_FAILED, CAUSE_LAUNCH,
                          "only %u of %u agents were ready after %d s", lead->ready, lead->count,
                          LEAD_LAUNCH_MS / 1000);
    if (lead->job_step)
        job_step_kill(lead->job_step); /* the end of srun concludes the run */
}
