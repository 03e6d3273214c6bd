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

/* A phase before this phase that has not succeeded and does not run again by itself; NULL: no
 * phase. */
static const struct phase *graph_lost(const struct phase *phase)
{
    for (size_t i = 0; i < phase->after_count; i++) {
        const struct phase *before = &phase->workflow->phases[phase->after[i]];
        if (phase_state_is_final(before->state) && before->state != PHASE_SUCCEEDED)
            return before;
    }
    return NULL;
}

static void graph_skip_reason(const struct phase *before, char reason[REASON_MAX])
{
    (void)snprintf(reason, REASON_MAX, "%.100s %s", before->name, phase_state_name(before->state));
}

static void phase_skip(struct decision *decision, struct phase *phase, const struct phase *before)
{
    char reason[REASON_MAX];
    graph_skip_reason(before, reason);
    phase_move(decision, phase, PHASE_SKIPPED, reason);
}

static bool graph_skip(struct decision *decision, struct phase *phase, struct phase *before)
{
    phase_skip(decision, phase, before);
    return true;
}

/* A person has held the phase before it began. The skipped phase keeps this hold, and is held again
 * when it waits again. The hold of a budget ends: a budget that is still spent holds anew. */
static bool graph_skip_held(struct decision *decision, struct phase *phase, struct phase *before)
{
    bool is_persons = phase->hold_budget == BUDGET_NONE;
    if (phase->hold != HOLD_USER || phase->run)
        return false;
    phase_skip(decision, phase, before);
    if (is_persons)
        phase->hold = HOLD_USER;
    return true;
}

/* `before` was retried. If another phase before this phase is still lost, this phase stays skipped.
 */
static bool graph_revive(struct decision *decision, struct phase *phase, struct phase *before)
{
    const struct phase *lost = graph_lost(phase);
    (void)before;
    if (lost) {
        char reason[REASON_MAX];
        graph_skip_reason(lost, reason);
        phase_set_reason(phase, reason);
        decision_save_phase(decision, phase);
    } else if (phase->hold == HOLD_USER) {
        phase_move_held(decision, phase, HOLD_USER, "it was held before it was skipped");
    } else {
        phase_move(decision, phase, PHASE_BLOCKED, "");
    }
    return !lost;
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

void graph_wait(struct decision *decision, struct phase *phase, const char *reason)
{
    const struct phase *lost = graph_lost(phase);
    if (!lost) {
        phase_move(decision, phase, PHASE_BLOCKED, reason);
    } else if (phase->state != PHASE_SKIPPED) {
        phase_skip(decision, phase, lost);
        decision_tell_phase(decision, FACT_PHASE_LOST, phase, "");
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
