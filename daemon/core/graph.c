/* The graph of a workflow: which phases begin, are skipped or wait again when a phase has ended,
 * and which phase goes on in its allocation. */
#include "daemon/core/decision.h"

#include <stdio.h>

static bool phase_is_after(const struct phase *phase, const struct phase *before)
{
    for (size_t i = 0; i < phase->after_count; i++)
        if (phase->after[i] == before->index)
            return true;
    return false;
}

/* All phases before this phase may have succeeded now. If so, the phase begins: in the allocation
 * that `before` keeps, if the phase fits there. */
static bool graph_begin(struct decision *decision, struct phase *phase, struct phase *before)
{
    struct run *donor = phase_donor(before);
    if (!phase_is_ready(phase))
        return false;
    if (donor && phase_fits(phase, donor, decision->now_ms))
        (void)phase_start_in_seat(decision, phase, donor, RUN_STARTING, "in place");
    else
        phase_start(decision, phase, "submitted", 0);
    const char *who = decision->fact->who;
    struct core_effect *promotion = decision_do(decision, FX_PROMOTION, phase->run);
    promotion->phase = before;
    promotion->is_ungated = !*who && decision->event->is_ungated;
    (void)snprintf(promotion->message, sizeof promotion->message, "%s", who);
    return false;
}

static bool graph_skip(struct decision *decision, struct phase *phase, struct phase *before)
{
    char reason[REASON_MAX];
    (void)snprintf(reason, sizeof reason, "%.100s %s", before->name,
                   phase_state_name(before->state));
    phase_move(decision, phase, PHASE_SKIPPED, reason);
    return true;
}

/* A phase that was held at its submission has not begun, and will not begin. */
static bool graph_skip_held(struct decision *decision, struct phase *phase, struct phase *before)
{
    return phase->hold == HOLD_USER && !phase->run && graph_skip(decision, phase, before);
}

static bool graph_revive(struct decision *decision, struct phase *phase, struct phase *before)
{
    (void)before; /* which phase runs again does not matter */
    phase_move(decision, phase, PHASE_BLOCKED, "");
    return true;
}

/* --- The table -------------------------------------------------------------------------------- */

/* Returns true if the phases after `phase` must be told the same. */
typedef bool graph_handler(struct decision *decision, struct phase *phase, struct phase *before);

/* A row for each state of the waiting phase; a column for each fact about the phase before. */
static graph_handler *const graph_table[PHASE_STATE_COUNT][FACT_COUNT] = {
    [PHASE_BLOCKED] = {[FACT_PHASE_SUCCEEDED] = graph_begin, [FACT_PHASE_LOST] = graph_skip},
    [PHASE_HELD] = {[FACT_PHASE_LOST] = graph_skip_held},
    [PHASE_SKIPPED] = {[FACT_PHASE_REVIVED] = graph_revive},
};

static void graph_tell_after(struct decision *decision, struct phase *before, enum fact_kind kind)
{
    struct workflow *workflow = before->workflow;
    for (size_t i = before->index + 1; i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        graph_handler *handler = graph_table[phase->state][kind];
        if (handler && phase_is_after(phase, before) && handler(decision, phase, before))
            graph_tell_after(decision, phase, kind);
    }
}

void graph_revive_after(struct decision *decision, struct phase *phase)
{
    graph_tell_after(decision, phase, FACT_PHASE_REVIVED);
}

void graph_on_fact(struct decision *decision, const struct fact *fact)
{
    struct phase *phase = fact->phase;
    bool is_member_out = phase->matrix && phase->state == PHASE_FAILED;
    graph_tell_after(decision, phase, (enum fact_kind)fact->kind);
    if ((phase->state == PHASE_SUCCEEDED || is_member_out) && !matrix_takes_over(decision, phase))
        phase_let_go(decision, phase);
}

void workflow_settle(struct decision *decision, struct workflow *workflow)
{
    bool is_final = workflow_is_final(workflow);
    if (is_final == (workflow->ended_ms != 0))
        return;
    workflow->ended_ms = is_final ? decision->now_ms : 0;
    decision_save_workflow(decision, workflow);
}
