/* Remedies: a failure is answered by other params and another run, as often as the spec allows.
 *
 * Which remedy, and that it counts, is decided here and committed with the intent to work it out
 * (FX_REMEDY). What its params become is worked out by whoever has the workflow's text, as often as
 * a crash makes it; only the answer (EV_REMEDIED) begins the run. Counts never go back, not even by
 * a person's retry: what the spec allows is a bound for the whole life of a phase. */
#include "daemon/core/step.h"

#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool remedy_is_for(const struct remedy *remedy, const char *name, size_t size)
{
    return strlen(remedy->cause) == size && strncmp(remedy->cause, name, size) == 0;
}

/* The first for one of `names` (with commas between; NULL: none), by the order of the names; of
 * those that were tried as often as they may be only when `used_up`. */
static struct remedy *remedy_find(const struct phase *phase, const char *names, bool used_up)
{
    while (names && *names) {
        size_t size = strcspn(names, ",");
        for (size_t i = 0; i < phase->remedy_count; i++) {
            struct remedy *remedy = &phase->remedies[i];
            if (remedy_is_for(remedy, names, size) && (used_up || remedy->used < remedy->times))
                return remedy;
        }
        names += size + (names[size] == ',');
    }
    return NULL;
}

bool remedy_begin(struct step *step, struct phase *phase, const char *checks, const char *cause,
                  const char *reason)
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
        step_save_phase(step, phase);
    else
        phase_move(step, phase, PHASE_DECIDING, reason);
    (void)step_do(step, FX_REMEDY, phase->run); /* at once */
    return true;
}

bool remedy_is_used_up(const struct phase *phase, const char *checks, const char *cause)
{
    return remedy_find(phase, checks, true) || remedy_find(phase, cause, true);
}

void remedy_forget(struct step *step, struct phase *phase)
{
    if (!phase->remedy)
        return;
    phase->remedy = NULL;
    step_done(step, FX_REMEDY, phase->run);
    step_save_phase(step, phase);
}
