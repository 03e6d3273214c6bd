/* Decides whether the run hangs. A node reports that it was silent for too long. Then the lead asks
 * all nodes. The run hangs if no node has shown a sign of life for that long. */
#include "worker/lead/lead_state.h"

#include "lib/memory.h"
#include "lib/text.h"
#include "worker/health/outlier.h"
#include "worker/health/ras_status.h"
#include "worker/protocol/assignment.h"

#include <stdlib.h>

enum {
    LEAD_HANG_ANSWER_MS = 10000, /* an agent without an answer is silent, too */
    LEAD_HANG_NODES_MAX = 64,    /* nodes that the outcome names */
};

static bool lead_hang_is_there(const struct lead *lead, unsigned i)
{
    return i < lead->run->assignment->nodes && !lead->agents[i].is_gone &&
           !lead->agents[i].is_ended;
}

/* Returns the agent whose silence counts as the silence of the run: the first agent with ranks.
 * This agent reads the metrics, so it knows how long a step takes. */
static const struct lead_agent *lead_hang_first(const struct lead *lead)
{
    for (unsigned i = 0; i < lead->count; i++)
        if (lead_hang_is_there(lead, i))
            return &lead->agents[i];
    return NULL;
}

static json_t *lead_hang_evidence(const struct lead *lead, double silent_s)
{
    json_t *nodes = json_object(), *silent = json_array();
    for (unsigned i = 0; i < lead->count; i++) {
        const struct lead_agent *agent = &lead->agents[i];
        if (!lead_hang_is_there(lead, i) || json_object_size(nodes) >= LEAD_HANG_NODES_MAX)
            continue;
        if (agent->is_examined && agent->summary)
            json_object_set_new(nodes, agent->node, json_string(agent->summary));
        else if (json_array_size(silent) < LEAD_HANG_NODES_MAX)
            json_array_append_new(silent, json_string(agent->node));
    }
    return json_pack("{s:f, s:f, s:o, s:o}", "silent_s", silent_s, "limit_s", lead->hang.limit_s,
                     "nodes", nodes, "unanswered", silent);
}

/* Describes the process for which all others seem to wait. If no process stands out, describes a
 * process of the first node. Then says whether NCCL's RAS names this process, too. */
static char *lead_hang_why(const struct lead *lead)
{
    const struct lead_agent *first = lead_hang_first(lead);
    struct outlier_node *nodes = xcalloc(lead->count, sizeof *nodes);
    const json_t **answers = xcalloc(lead->count, sizeof *answers);
    struct outlier_process outlier;
    size_t count = 0;
    for (unsigned i = 0; i < lead->count; i++) {
        const struct lead_agent *agent = &lead->agents[i];
        if (!lead_hang_is_there(lead, i) || !agent->is_examined)
            continue;
        answers[count] = agent->ras;
        nodes[count++] = (struct outlier_node){agent->node, agent->counts};
    }
    char *who = outlier_find(nodes, count, &outlier);
    char *ras = ras_status_compare(answers, count, &outlier);
    bool has_answered = first && first->is_examined && first->summary;
    if (!who)
        who = text_format("on %s %s", first ? first->node : "all nodes",
                          has_answered ? first->summary : "the agent is silent");
    char *why = text_format("%s%s%s", who, ras ? "; " : "", ras ? ras : "");
    free(nodes);
    free(answers);
    free(who);
    free(ras);
    return why;
}

static void lead_hang_decide(struct lead *lead, double silent_s)
{
    char *silence = text_time(silent_s), *limit = text_time(lead->hang.limit_s);
    char *why = lead_hang_why(lead);
    if (lead_run_stop(lead->run, STOP_HANG, "no output, metric or checkpoint for %s (limit %s): %s",
                      silence, limit, why)) {
        lead->run->outcome.evidence = lead_hang_evidence(lead, silent_s);
        job_step_send(lead->job_step, AGENT_EVIDENCE, NULL);
        lead_stop(lead, lead_run_stop_seconds(lead->run));
    }
    free(silence);
    free(limit);
    free(why);
}

static bool lead_hang_is_open(const struct lead *lead)
{
    return lead->job_step && lead->state == LEAD_RUNNING && !lead->run->is_decided &&
           !lead->is_asking;
}

void lead_hang_judge(struct lead *lead, bool is_late)
{
    double silent_s = -1;
    if (!lead->hang.is_asked)
        return;
    for (unsigned i = 0; i < lead->count; i++) {
        const struct lead_agent *agent = &lead->agents[i];
        if (!lead_hang_is_there(lead, i))
            continue;
        if (!agent->is_examined && !is_late)
            return;
        if (agent->is_examined && (silent_s < 0 || agent->silent_s < silent_s))
            silent_s = agent->silent_s;
    }
    lead->hang.is_asked = false;
    uv_timer_stop(&lead->hang.timer);
    if (silent_s < 0)
        silent_s = lead->hang.limit_s; /* no agent has answered */
    if (lead_hang_first(lead) && silent_s >= lead->hang.limit_s && lead_hang_is_open(lead))
        lead_hang_decide(lead, silent_s);
}

static void lead_hang_late(uv_timer_t *timer)
{
    lead_hang_judge(timer->data, true);
}

/* Warns of a node that has stopped while the run does not hang. The node must have made steps of
 * its own. The limit has a margin of a quarter: if all nodes wait for this node, the first node
 * falls silent soon, and the run is found to hang within the margin. */
static void lead_hang_warn(struct lead *lead, struct lead_agent *agent, const struct report *report)
{
    double silent_s = report->seconds;
    bool has_stopped = report->has_steps && silent_s > 1.25 * report->limit;
    if (agent->was_warned || !has_stopped)
        return;
    agent->was_warned = true;
    char *silence = text_time(silent_s);
    lead_run_warn(lead->run, "%s has shown nothing for %s, while others go on", agent->node,
                  silence);
    free(silence);
}

void lead_hang_silent(struct lead *lead, struct lead_agent *agent, const struct report *report)
{
    if (lead->hang.is_asked || !lead_hang_is_open(lead))
        return;
    if (agent != lead_hang_first(lead)) {
        lead_hang_warn(lead, agent, report);
        return;
    }
    lead->hang.is_asked = true;
    lead->hang.limit_s = report->limit;
    for (unsigned i = 0; i < lead->count; i++)
        lead->agents[i].is_examined = false;
    job_step_send(lead->job_step, AGENT_EXAMINE, NULL);
    uv_timer_start(&lead->hang.timer, lead_hang_late, LEAD_HANG_ANSWER_MS, 0);
}

void lead_hang_examined(struct lead *lead, struct lead_agent *agent, const struct report *report)
{
    agent->is_examined = true;
    agent->silent_s = report->seconds;
    json_decref(agent->counts);
    agent->counts = json_incref(report->counts);
    json_decref(agent->ras);
    agent->ras = json_incref(report->ras);
    free(agent->summary);
    agent->summary = xstrdup_or_null(report->summary);
    lead_hang_judge(lead, false);
}
