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

/* Either may be NULL. */
static bool remedy_keeps(const char *text, const char *plan)
{
    return text && plan ? text_equal(text, plan) : text == plan;
}

/* Whether a run with these params can be given the same allocation. */
static bool remedy_keeps_shape(const struct phase *phase, const struct phase *plan)
{
    return phase->nodes == plan->nodes && phase->gpus_per_node == plan->gpus_per_node &&
           phase->cpus_per_node == plan->cpus_per_node &&
           remedy_keeps(phase->gpu_type, plan->gpu_type) &&
           remedy_keeps(phase->alternatives, plan->alternatives) &&
           text_equal(phase->slurm_options, plan->slurm_options);
}

static void remedy_choose_checkpoint(struct phase *phase, enum remedy_resume resume,
                                     const struct core_event *event)
{
    switch (resume) {
    case REMEDY_CHECKPOINT:
        break;
    case REMEDY_START:
        phase_choose_checkpoint(phase, "", 0);
        break;
    case REMEDY_PREVIOUS:
        phase_choose_checkpoint(phase, event->path ? event->path : "", event->step);
        break;
    case REMEDY_RESUME_COUNT:
        assert(false && "a place to resume from");
    }
}

void remedy_on_remedied(struct step *step, struct phase *phase)
{
    const struct core_event *event = step->event;
    const struct remedy *remedy = phase->remedy;
    struct run *run = phase->run;
    char reason[REASON_MAX];
    unsigned used, times;
    if (!remedy) /* cancelled meanwhile */
        return;
    bool was_judged = run->outcome == OUTCOME_SUCCEEDED;
    phase_count_remedies(phase, remedy->cause, &used, &times);
    (void)snprintf(reason, sizeof reason, "remedy %.64s %u of %u%s%.160s", remedy->cause, used,
                   times,
                   event->plan ? ": " : " is impossible: ", event->message ? event->message : "");
    remedy_forget(step, phase);
    if (!event->plan) {
        phase_fail(step, phase, was_judged ? HOLD_GATE : HOLD_FAILURE, reason);
        return;
    }
    /* Where the node may be to blame, the run goes elsewhere, and not at once. */
    bool is_by_node = run_cause_retries(run->cause) > 0;
    bool can_stay = !is_by_node && remedy_keeps_shape(phase, &event->plan->phases[phase->index]);
    run->is_remedied = true;
    step_save_run(step, run);
    phase->stalls = 0;
    phase_adopt_plan(step, phase, event->plan);
    remedy_choose_checkpoint(phase, remedy->resume, event);
    phase_follow(step, phase, can_stay, is_by_node ? FAILURE_FIRST_MS : 0, reason);
}
