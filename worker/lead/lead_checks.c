/* Collects the preflights of a run. The ranks start only after all nodes have reported. A failed
 * preflight ends the run before the ranks start, and its node is blamed. A check that could not be
 * made gives a warning. */
#include "worker/lead/lead_state.h"

#include "lib/text.h"
#include "worker/protocol/assignment.h"

#include <stdlib.h>

enum {
    LEAD_CHECKS_MS = 120000, /* the agents' own deadline is shorter; a later agent is stuck */
};

void lead_checks_forget(struct lead *lead)
{
    fitness_fini(&lead->fitness);
    lead->is_checking = false;
}

static void lead_checks_fail(struct lead *lead)
{
    struct lead_run *run = lead->run;
    char *message = fitness_failure(&lead->fitness);
    if (lead_run_stop(run, STOP_PREFLIGHT, "%s", message))
        fitness_blame(&lead->fitness, run->outcome.node, sizeof run->outcome.node);
    free(message);
    lead_stop(lead, 0);
}

static void lead_checks_decide(struct lead *lead)
{
    bool is_fit = lead->fitness.failed == 0 || lead->run->assignment->preflight_observes;
    lead->is_checking = false;
    uv_timer_stop(&lead->timer);
    if (!is_fit) {
        lead_checks_fail(lead);
        return;
    }
    char *note = fitness_note(&lead->fitness);
    if (note)
        lead_run_warn(lead->run, "%s", note);
    free(note);
    job_step_send(lead->job_step, AGENT_GO, NULL);
}

static void lead_checks_late(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    char *reason = text_format("no answer within %d s", LEAD_CHECKS_MS / 1000);
    if (!lead->job_step || !lead->is_checking)
        goto out;
    for (unsigned i = 0; i < lead->run->assignment->nodes && i < lead->count; i++)
        if (!lead->agents[i].is_checked)
            fitness_add(&lead->fitness, lead->agents[i].node, PREFLIGHT_UNKNOWN, reason);
    lead_checks_decide(lead);
out:
    free(reason);
}

void lead_checks_begin(struct lead *lead)
{
    lead_checks_forget(lead);
    for (unsigned i = 0; i < lead->count; i++)
        lead->agents[i].is_checked = false;
    lead->is_checking = lead->run->assignment->preflight != NULL;
    if (lead->is_checking)
        lead_set_timer(lead, lead_checks_late, LEAD_CHECKS_MS);
}

void lead_checks_add(struct lead *lead, struct lead_agent *agent, const struct report *report)
{
    if (!lead->is_checking || agent->is_checked || lead->run->is_decided)
        return;
    agent->is_checked = true;
    fitness_add(&lead->fitness, agent->node, fitness_parse(report->outcome),
                report->reason ? report->reason : "");
    if (lead->fitness.heard >= lead->run->assignment->nodes)
        lead_checks_decide(lead);
}
