/* Effects, facts, and the two functions that assign a state. */
#include "daemon/core/step.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool is_kept;
    enum core_about about;
    bool needs_cluster;
} effect_rows[] = {
#define X(symbol, name, kept, about, cluster) [FX_##symbol] = {name, kept, ABOUT_##about, cluster},
    CORE_EFFECTS(X)
#undef X
};

void core_effects_clear(struct core_effects *effects)
{
    effects->count = 0;
}

void core_effects_fini(struct core_effects *effects)
{
    free(effects->items);
    *effects = (struct core_effects){0};
}

const char *core_effect_name(enum core_effect_kind kind)
{
    assert(kind < FX_COUNT);
    return effect_rows[kind].name;
}

int core_effect_parse(const char *name)
{
    for (int kind = 0; kind < FX_COUNT; kind++)
        if (text_equal(effect_rows[kind].name, name))
            return kind;
    return -1;
}

bool core_effect_is_kept(enum core_effect_kind kind)
{
    assert(kind < FX_COUNT);
    return effect_rows[kind].is_kept;
}

enum core_about core_effect_about(enum core_effect_kind kind)
{
    assert(kind < FX_COUNT);
    return effect_rows[kind].about;
}

bool core_effect_needs_cluster(enum core_effect_kind kind)
{
    assert(kind < FX_COUNT);
    return effect_rows[kind].needs_cluster;
}

uint64_t core_effect_target(const struct core_effect *effect)
{
    switch (core_effect_about(effect->kind)) {
    case ABOUT_PHASE:
        return effect->phase->id;
    case ABOUT_RUN:
        return effect->run->id;
    case ABOUT_JOB:
        return effect->allocation->id;
    case ABOUT_WORKFLOW:
        break;
    }
    return effect->workflow->id;
}

struct core_effect *step_add(struct step *step, enum core_effect_kind kind,
                             struct workflow *workflow)
{
    struct core_effects *effects = step->effects;
    if (effects->count == effects->capacity) {
        effects->capacity = effects->capacity ? 2 * effects->capacity : 32;
        effects->items = xrealloc(effects->items, effects->capacity * sizeof *effects->items);
    }
    struct core_effect *effect = &effects->items[effects->count++];
    *effect = (struct core_effect){.kind = kind, .workflow = workflow};
    return effect;
}

void step_save_workflow(struct step *step, struct workflow *workflow)
{
    (void)step_add(step, FX_SAVE_WORKFLOW, workflow); /* a workflow has no details to add */
}

void step_save_phase(struct step *step, struct phase *phase)
{
    step_add(step, FX_SAVE_PHASE, phase->workflow)->phase = phase;
}

void step_save_run(struct step *step, struct run *run)
{
    struct core_effect *effect = step_add(step, FX_SAVE_RUN, run->phase->workflow);
    effect->phase = run->phase;
    effect->run = run;
}

void step_save_seat(struct step *step, struct run *run)
{
    step_add(step, FX_SAVE_SEAT, run->phase->workflow)->run = run;
}

struct core_effect *step_do(struct step *step, enum core_effect_kind kind, struct run *run)
{
    struct core_effect *effect = step_add(step, kind, run->phase->workflow);
    effect->phase = run->phase;
    effect->run = run;
    effect->allocation = run->seat->allocation;
    return effect;
}

void step_done(struct step *step, enum core_effect_kind kind, struct run *run)
{
    step_do(step, kind, run)->is_done = true;
}

struct core_effect *step_do_job(struct step *step, enum core_effect_kind kind,
                                struct allocation *allocation)
{
    struct core_effect *effect = step_do(step, kind, allocation_run(allocation));
    effect->allocation = allocation;
    return effect;
}

void step_done_job(struct step *step, enum core_effect_kind kind, struct allocation *allocation)
{
    step_do_job(step, kind, allocation)->is_done = true;
}

void step_save_job(struct step *step, struct allocation *allocation)
{
    (void)step_do_job(step, FX_SAVE_JOB, allocation); /* a job has no details to add */
}

void step_new_token(struct step *step, char ret_token[TOKEN_LENGTH + 1])
{
    step->config->token(step->config->context, ret_token);
}

/* --- Facts ------------------------------------------------------------------------------------ */

static void step_add_fact(struct step *step, const struct fact *fact)
{
    struct facts *facts = step->facts;
    if (facts->count == facts->capacity) {
        facts->capacity = facts->capacity ? 2 * facts->capacity : 16;
        facts->items = xrealloc(facts->items, facts->capacity * sizeof *facts->items);
    }
    facts->items[facts->count++] = *fact;
}

int64_t step_began_ms(const struct step *step, int64_t told_ms, int64_t least_ms)
{
    if (told_ms < least_ms && told_ms > least_ms - 1000)
        told_ms = least_ms; /* Slurm leaves out the part of a second */
    return told_ms && told_ms >= least_ms && told_ms <= step->now_ms ? told_ms : step->now_ms;
}

int64_t step_ended_ms(const struct step *step, int64_t began_ms, int64_t told_began_ms,
                      int64_t told_ended_ms)
{
    int64_t ahead_ms = told_began_ms ? began_ms - told_began_ms : 0, ended_ms = told_ended_ms;
    if (ahead_ms > CLOCK_SAME_MS || ahead_ms < -CLOCK_SAME_MS)
        ended_ms += ahead_ms;
    if (ended_ms < began_ms)
        ended_ms = began_ms;
    return ended_ms < step->now_ms ? ended_ms : step->now_ms;
}

void step_tell_job(struct step *step, enum fact_kind kind, struct allocation *allocation)
{
    step_add_fact(
        step,
        &(struct fact){.kind = kind, .workflow = allocation->workflow, .allocation = allocation});
}

void step_tell_run(struct step *step, enum fact_kind kind, struct run *run)
{
    step_add_fact(
        step, &(struct fact){
                  .kind = kind, .workflow = run->phase->workflow, .phase = run->phase, .run = run});
}

void step_tell_phase(struct step *step, enum fact_kind kind, struct phase *phase, const char *who)
{
    step_add_fact(step, &(struct fact){
                            .kind = kind, .workflow = phase->workflow, .phase = phase, .who = who});
}

bool step_take(struct step *step, struct fact *ret_fact)
{
    struct facts *facts = step->facts;
    if (facts->taken == facts->count) {
        facts->taken = facts->count = 0;
        return false;
    }
    *ret_fact = facts->items[facts->taken++];
    return true;
}

/* --- States ----------------------------------------------------------------------------------- */

static void step_history(struct step *step, struct phase *phase, struct run *run, const char *from,
                         const char *to, const char *message)
{
    struct core_effect *effect = step_add(step, FX_HISTORY, phase->workflow);
    effect->phase = phase;
    effect->run = run;
    effect->from = from;
    effect->to = to;
    (void)snprintf(effect->message, sizeof effect->message, "%s", message);
}

void phase_set_reason(struct phase *phase, const char *reason)
{
    char text[REASON_MAX];
    (void)snprintf(text, sizeof text, "%s", reason);
    memcpy(phase->reason, text, sizeof text);
}

void phase_move(struct step *step, struct phase *phase, enum phase_state to, const char *reason)
{
    assert(phase_move_is_allowed(phase->state, to));
    const char *from = phase_state_name(phase->state);
    phase->state = to;
    phase->hold = HOLD_NONE;
    phase_set_reason(phase, reason);
    step_save_phase(step, phase);
    step_history(step, phase, NULL, from, phase_state_name(to), phase->reason);
}

void phase_move_held(struct step *step, struct phase *phase, enum phase_hold hold,
                     const char *reason)
{
    phase_move(step, phase, PHASE_HELD, reason);
    phase->hold = hold;
}

void run_move(struct step *step, struct run *run, enum run_state to, const char *message)
{
    assert(run_move_is_allowed(run->state, to));
    const char *from = run_state_name(run->state);
    run->state = to;
    step_save_run(step, run);
    step_history(step, run->phase, run, from, run_state_name(to), message);
    if (to == RUN_STARTING || to == RUN_RUNNING)
        step_tell_run(step, FACT_RUN_BEGAN, run);
    else if (to == RUN_PENDING)
        step_tell_run(step, FACT_RUN_WAITS, run);
}
