/* Remedies: other params and another run answer a failure, as often as the spec allows.
 *
 * This file decides which remedy is tried. The decision counts as a try. It is committed with the
 * intent to work the remedy out (FX_REMEDY). The room that has the workflow's text works out the
 * params, and does so again after a crash. Only the answer (EV_REMEDIED) begins the run. Counts
 * never go back, not even when a person retries: the spec limits the tries in the whole life of a
 * phase. */
#include "daemon/core/decision.h"

#include <assert.h>
#include <string.h>

static bool remedy_is_for(const struct remedy *remedy, const char *name, size_t size)
{
    return strlen(remedy->cause) == size && strncmp(remedy->cause, name, size) == 0;
}

/* The first remedy for one of `names` (with ", " between; NULL: no names), in the order of the
 * names. With `used_up`, remedies that were tried as often as allowed count, too. */
static struct remedy *remedy_find(const struct phase *phase, const char *names, bool used_up)
{
    while (names && *names) {
        size_t size = strcspn(names, ",");
        for (size_t i = 0; i < phase->remedy_count; i++) {
            struct remedy *remedy = &phase->remedies[i];
            if (remedy_is_for(remedy, names, size) && (used_up || remedy->used < remedy->times))
                return remedy;
        }
        names += size + strspn(names + size, ", ");
    }
    return NULL;
}

bool remedy_begin(struct decision *decision, struct phase *phase, const char *checks,
                  const char *cause, const char *reason)
{
    struct remedy *remedy = remedy_find(phase, checks, false);
    if (!remedy)
        remedy = remedy_find(phase, cause, false);
    if (!remedy)
        return false;
    assert(!phase->remedy && phase->run && phase->run->state == RUN_ENDED);
    remedy->used++;
    phase->remedy = remedy;
    if (phase->state == PHASE_DECIDING)
        decision_save_phase(decision, phase);
    else
        phase_move(decision, phase, PHASE_DECIDING, reason);
    (void)decision_do(decision, FX_REMEDY, phase->run); /* at once */
    return true;
}

bool remedy_is_used_up(const struct phase *phase, const char *checks, const char *cause)
{
    return remedy_find(phase, checks, true) || remedy_find(phase, cause, true);
}

void remedy_forget(struct decision *decision, struct phase *phase)
{
    if (!phase->remedy)
        return;
    phase->remedy = NULL;
    decision_done(decision, FX_REMEDY, phase->run);
    decision_save_phase(decision, phase);
}
