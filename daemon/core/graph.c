/* The graph of a workflow: which phases begin, are skipped or wait again when one has come to its
 * end, and which of them goes on in its allocation. */
#include "daemon/core/step.h"

#include <stdio.h>

static bool phase_is_after(const struct phase *phase, const struct phase *before)
{
    for (size_t i = 0; i < phase->after_count; i++)
        if (phase->after[i] == before->index)
            return true;
    return false;
}

/* Those after a phase that ended otherwise than succeeded will not run. */
static void graph_skip_after(struct step *step, struct phase *phase)
{
    struct workflow *workflow = phase->workflow;
    for (size_t i = phase->index + 1; i < workflow->phase_count; i++) {
        struct phase *next = &workflow->phases[i];
        bool waits = next->state == PHASE_BLOCKED ||
                     (next->state == PHASE_HELD && next->hold == HOLD_USER && !next->run);
        if (!waits || !phase_is_after(next, phase))
            continue;
        char reason[REASON_MAX];
        (void)snprintf(reason, sizeof reason, "%.100s %s", phase->name,
                       phase_state_name(phase->state));
        phase_move(step, next, PHASE_SKIPPED, reason);
        graph_skip_after(step, next);
    }
}

void graph_revive_after(struct step *step, struct phase *phase)
{
    struct workflow *workflow = phase->workflow;
    for (size_t i = phase->index + 1; i < workflow->phase_count; i++) {
        struct phase *next = &workflow->phases[i];
        if (next->state != PHASE_SKIPPED || !phase_is_after(next, phase))
            continue;
        phase_move(step, next, PHASE_BLOCKED, "");
        graph_revive_after(step, next);
    }
}

void graph_on_succeeded(struct step *step, const struct fact *fact)
{
    struct phase *phase = fact->phase;
    struct workflow *workflow = phase->workflow;
    for (size_t i = phase->index + 1; i < workflow->phase_count; i++) {
        struct phase *next = &workflow->phases[i];
        if (next->state != PHASE_BLOCKED || !phase_is_after(next, phase) || !phase_is_ready(next))
            continue;
        struct run *donor = phase_donor(phase); /* until one of them has begun in its seat */
        if (donor && phase_fits(next, donor, step->now_ms))
            (void)phase_start_in_seat(step, next, donor, RUN_STARTING, "in place");
        else
            phase_start(step, next, "submitted");
        struct core_effect *promotion = step_do(step, FX_PROMOTION, next->run);
        promotion->phase = phase;
        promotion->is_ungated = !*fact->who && step->event->is_ungated;
        (void)snprintf(promotion->message, sizeof promotion->message, "%s", fact->who);
    }
    if (!matrix_takes_over(step, phase))
        phase_let_go(step, phase);
}

void graph_on_lost(struct step *step, const struct fact *fact)
{
    struct phase *phase = fact->phase;
    if (phase->state == PHASE_FAILED && phase->matrix && !matrix_takes_over(step, phase))
        phase_let_go(step, phase);
    graph_skip_after(step, phase);
}

void workflow_settle(struct step *step, struct workflow *workflow)
{
    bool is_final = workflow_is_final(workflow);
    if (is_final == (workflow->ended_ms != 0))
        return;
    workflow->ended_ms = is_final ? step->now_ms : 0;
    step_save_workflow(step, workflow);
}
