/* Takes the reports of the agents. */
#include "worker/lead/lead_state.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/protocol/hardware.h"
#include "lib/spec/overlay.h"
#include "worker/node/agent.h"
#include "worker/protocol/assignment.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Warns if no part of by_gpu matches the GPU. */
static void lead_warn_of_hardware(struct lead_run *run)
{
    struct hardware hardware = hardware_read(run->assignment->hardware);
    const char *model = hardware.model;
    if (!run->assignment->hardware || !overlay_exists(run->assignment->spec) || hardware.by_gpu)
        return;
    lead_run_warn(run, "by_gpu: %s%s: the phase runs unchanged",
                  model ? "no entry fits " : "the type of the GPU is unknown", model ? model : "");
}

void lead_begin(struct lead *lead)
{
    struct lead_run *run = lead->run;
    if (run->is_decided) {
        lead_conclude(lead); /* it was stopped, or could not be prepared */
        return;
    }
    if (!lead_claim(lead, lead_begin))
        return;
    lead_run_choose_newest(run);
    json_t *nodes = json_array();
    for (unsigned i = 0; i < lead->count; i++) {
        lead->agents[i].is_gone = lead->agents[i].is_ended = false;
        lead->agents[i].was_warned = false;
        lead->paces[i] = (struct pace_node){0};
        if (i < run->assignment->nodes)
            json_array_append_new(nodes, json_string(lead->agents[i].node));
    }
    lead->state = LEAD_RUNNING;
    lead->is_killing = lead->is_joining = false;
    uv_timer_stop(&lead->timer);
    lead->start_number++;
    job_step_send(lead->job_step, AGENT_START, run->assignment->file.run_dir);
    lead_run_tell(run, &(struct entry){.type = ENTRY_STARTED,
                                       .job_id = run->outcome.job_id,
                                       .restarts = run->outcome.restarts,
                                       .nodes = nodes,
                                       .end_time = lead->end_time > 0 ? lead->end_time : 0,
                                       .hardware = run->assignment->hardware,
                                       .token = lead->life.token[0] ? lead->life.token : NULL});
    json_decref(nodes);
    lead_warn_of_hardware(run);
    lead_checks_begin(lead);
}

static void lead_agent_ready(struct lead *lead, struct lead_agent *agent,
                             const struct report *report)
{
    if (agent->node)
        return;
    agent->node = xstrdup(report->node);
    if (++lead->ready == lead->count)
        lead->handle(lead, LEAD_READY);
}

static void lead_agent_started(struct lead *lead, struct lead_agent *agent,
                               const struct report *report)
{
    (void)agent;
    lead_run_add_start(lead->run, report->time);
}

/* Once no node has processes of the run any more, tells the agents to end it, or to join first. */
static void lead_finish(struct lead *lead)
{
    unsigned gone = 0;
    for (unsigned i = 0; i < lead->count; i++)
        gone += lead->agents[i].is_gone || lead->agents[i].is_ended;
    if (gone < lead->count)
        return;
    bool is_good = !lead->run->is_decided && !lead->is_asking;
    if (lead->run->assignment->join && is_good && !lead->is_joining) {
        lead->is_joining = true;
        lead->agents[0].is_gone = false; /* the first node reports once more after the join */
        job_step_send(lead->job_step, AGENT_JOIN, NULL);
    } else {
        job_step_send(lead->job_step, AGENT_FINISH, NULL);
    }
}

static void lead_agent_gone(struct lead *lead, struct lead_agent *agent,
                            const struct report *report)
{
    (void)report;
    agent->is_gone = true;
    lead_hang_judge(lead, false);
    lead_finish(lead);
}

/* An agent that could not start the run ends the run before the other agents are told to. */
static void lead_agent_ended(struct lead *lead, struct lead_agent *agent,
                             const struct report *report)
{
    if (agent->is_ended)
        return;
    agent->is_ended = true;
    lead_run_add_end(lead->run, agent->node, report);
    if (lead_all_ended(lead))
        lead_conclude(lead);
    else if (!agent->is_gone)
        lead_finish(lead);
}

/* A guard, a NaN, `until` or a full disk, seen by a node, ends the run. `until` ends it as
 * succeeded. On a full disk the ranks are killed at once: a checkpoint was saved just now, and
 * another one would not fit. */
static void lead_agent_guard(struct lead *lead, struct lead_agent *agent,
                             const struct report *report)
{
    enum stop_reason why = report->cause;
    (void)agent;
    if (why == STOP_REASON_COUNT ||
        !lead_run_stop(lead->run, why, "%s", report->message ? report->message : "a guard failed"))
        return;
    if (json_is_object(report->verdict))
        lead->run->outcome.guard = json_incref(report->verdict);
    if (why != STOP_UNTIL && why != STOP_HELD)
        job_step_send(lead->job_step, AGENT_SUSPECT, NULL);
    lead_stop(lead, why == STOP_HELD ? 0 : lead_run_stop_seconds(lead->run));
}

static void lead_agent_failed(struct lead *lead, struct lead_agent *agent,
                              const struct report *report)
{
    const char *message = report->message;
    enum stop_reason why = report->cause == STOP_REASON_COUNT ? STOP_LAUNCH : report->cause;
    bool is_new;
    lead_run_add_failure(lead->run, agent->node, report->failure);
    if (message)
        is_new = lead_run_stop(lead->run, why, "%s: %s", agent->node, message);
    else
        is_new = lead_run_decide_failed(lead->run, report->failed, agent->node);
    if (!is_new)
        return;
    if (!message)
        lead_run_tell_stop(lead->run, STOP_EXIT);
    else if (why == STOP_LAUNCH) /* other causes are not the node's fault */
        (void)snprintf(lead->run->outcome.node, sizeof lead->run->outcome.node, "%s", agent->node);
    lead_stop(lead, lead_run_stop_seconds(lead->run));
}

/* Warns of a straggler. Only a person can say what to do about it. */
static void lead_agent_pace(struct lead *lead, struct lead_agent *agent,
                            const struct report *report)
{
    unsigned index = (unsigned)(agent - lead->agents), fastest;
    double steps_per_s = report->steps_per_s;
    if (!pace_compare(lead->paces, lead->count, index, steps_per_s, clock_steady_ms(), &fastest))
        return;
    double best = lead->paces[fastest].steps_per_s;
    lead_run_warn(lead->run, "%s is a straggler: %.3g steps/s, %.2f of what %s makes (%.3g)",
                  agent->node, steps_per_s, steps_per_s / best, lead->agents[fastest].node, best);
}

static void lead_agent_terminated(struct lead *lead, struct lead_agent *agent,
                                  const struct report *report)
{
    (void)agent;
    lead->is_exposed = lead->is_exposed || report->is_all;
    lead_note_signal(lead, "SIGTERM was sent to the job step", false);
    lead->handle(lead, LEAD_TERM);
}

/* The daemon has ended the run, and another lead may run the phase by now. So this lead does not
 * decide the outcome. */
static void lead_agent_superseded(struct lead *lead, struct lead_agent *agent,
                                  const struct report *report)
{
    (void)report;
    (void)lead_run_stop(
        lead->run, STOP_OVER,
        "the agent on %s found that the run is over: the daemon or another lead has ended it",
        agent->node);
    lead_stop(lead, AGENT_ORPHAN_S);
}

static const struct {
    void (*take)(struct lead *lead, struct lead_agent *agent, const struct report *report);
    /* When the report matters. RUNNING: while the run of the report runs. UNSTOPPED: the same, but
     * not during a stop from outside, because the report then tells a consequence of the stop. */
    enum { HEED_ALWAYS, HEED_RUNNING, HEED_UNSTOPPED } when;
} lead_reports[AGENT_REPORT_COUNT] = {
    [REPORT_READY] = {lead_agent_ready, HEED_ALWAYS},
    [REPORT_TERMINATED] = {lead_agent_terminated, HEED_ALWAYS},
    [REPORT_STARTED] = {lead_agent_started, HEED_RUNNING},
    [REPORT_SUPERSEDED] = {lead_agent_superseded, HEED_RUNNING},
    [REPORT_GONE] = {lead_agent_gone, HEED_RUNNING},
    [REPORT_ENDED] = {lead_agent_ended, HEED_RUNNING},
    [REPORT_EXAMINED] = {lead_hang_examined, HEED_RUNNING},
    [REPORT_PREFLIGHT] = {lead_checks_add, HEED_UNSTOPPED},
    [REPORT_GUARD] = {lead_agent_guard, HEED_UNSTOPPED},
    [REPORT_PACE] = {lead_agent_pace, HEED_UNSTOPPED},
    [REPORT_SILENT] = {lead_hang_silent, HEED_UNSTOPPED},
    [REPORT_FAILED] = {lead_agent_failed, HEED_UNSTOPPED},
    [REPORT_CANNOT_START] = {lead_agent_failed, HEED_UNSTOPPED},
};

void lead_reported(void *context, const struct report *report)
{
    struct lead *lead = context;
    bool is_other = report->start_number && report->start_number != lead->start_number;
    bool is_running = !is_other && lead->state == LEAD_RUNNING;
    unsigned when = lead_reports[report->kind].when;
    assert(lead_reports[report->kind].take);
    if (!report->node || report->index < 0 || report->index >= lead->count ||
        lead->state == LEAD_LEAVING)
        return;
    if (when == HEED_ALWAYS || (is_running && (when == HEED_RUNNING || !lead->is_asking)))
        lead_reports[report->kind].take(lead, &lead->agents[report->index], report);
}
