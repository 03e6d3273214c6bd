/* Effects, facts, and the two functions that change a state. */
#include "daemon/core/decision.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct core_effect_row core_effect_rows[FX_COUNT] = {
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

int core_effect_parse(const char *name)
{
    for (int kind = 0; kind < FX_COUNT; kind++)
        if (text_equal(core_effect_rows[kind].name, name))
            return kind;
    return -1;
}

uint64_t core_effect_target(const struct core_effect *effect)
{
    switch (core_effect_rows[effect->kind].about) {
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

struct core_effect *decision_add(struct decision *decision, enum core_effect_kind kind,
                                 struct workflow *workflow)
{
    struct core_effects *effects = decision->effects;
    if (effects->count == effects->capacity) {
        effects->capacity = effects->capacity ? 2 * effects->capacity : 32;
        effects->items = xrealloc(effects->items, effects->capacity * sizeof *effects->items);
    }
    struct core_effect *effect = &effects->items[effects->count++];
    *effect = (struct core_effect){.kind = kind, .workflow = workflow};
    return effect;
}

void decision_save_workflow(struct decision *decision, struct workflow *workflow)
{
    (void)decision_add(decision, FX_SAVE_WORKFLOW, workflow); /* a workflow has no details to add */
}

void decision_save_phase(struct decision *decision, struct phase *phase)
{
    decision_add(decision, FX_SAVE_PHASE, phase->workflow)->phase = phase;
}

void decision_save_run(struct decision *decision, struct run *run)
{
    struct core_effect *effect = decision_add(decision, FX_SAVE_RUN, run->phase->workflow);
    effect->phase = run->phase;
    effect->run = run;
}

void decision_save_seat(struct decision *decision, struct run *run)
{
    decision_add(decision, FX_SAVE_SEAT, run->phase->workflow)->run = run;
}

struct core_effect *decision_do(struct decision *decision, enum core_effect_kind kind,
                                struct run *run)
{
    struct core_effect *effect = decision_add(decision, kind, run->phase->workflow);
    effect->phase = run->phase;
    effect->run = run;
    effect->allocation = run->seat->allocation;
    return effect;
}

void decision_done(struct decision *decision, enum core_effect_kind kind, struct run *run)
{
    decision_do(decision, kind, run)->is_done = true;
}

struct core_effect *decision_do_job(struct decision *decision, enum core_effect_kind kind,
                                    struct allocation *allocation)
{
    struct core_effect *effect = decision_do(decision, kind, allocation_run(allocation));
    effect->allocation = allocation;
    return effect;
}

void decision_done_job(struct decision *decision, enum core_effect_kind kind,
                       struct allocation *allocation)
{
    decision_do_job(decision, kind, allocation)->is_done = true;
}

void decision_save_job(struct decision *decision, struct allocation *allocation)
{
    (void)decision_do_job(decision, FX_SAVE_JOB, allocation); /* a job has no details to add */
}

void decision_new_token(struct decision *decision, char ret_token[TOKEN_LENGTH + 1])
{
    decision->config->token(decision->config->context, ret_token);
}

/* --- Facts ------------------------------------------------------------------------------------ */

static void decision_add_fact(struct decision *decision, const struct fact *fact)
{
    struct facts *facts = decision->facts;
    if (facts->count == facts->capacity) {
        facts->capacity = facts->capacity ? 2 * facts->capacity : 16;
        facts->items = xrealloc(facts->items, facts->capacity * sizeof *facts->items);
    }
    facts->items[facts->count++] = *fact;
}

int64_t decision_began_ms(const struct decision *decision, int64_t told_ms, int64_t least_ms)
{
    if (told_ms < least_ms && told_ms > least_ms - 1000)
        told_ms = least_ms; /* Slurm tells whole seconds */
    return told_ms && told_ms >= least_ms && told_ms <= decision->now_ms ? told_ms
                                                                         : decision->now_ms;
}

int64_t decision_ended_ms(const struct decision *decision, int64_t began_ms, int64_t told_began_ms,
                          int64_t told_ended_ms)
{
    int64_t ahead_ms = told_began_ms ? began_ms - told_began_ms : 0, ended_ms = told_ended_ms;
    if (ahead_ms > CLOCK_SAME_MS || ahead_ms < -CLOCK_SAME_MS)
        ended_ms += ahead_ms;
    if (ended_ms < began_ms)
        ended_ms = began_ms;
    return ended_ms < decision->now_ms ? ended_ms : decision->now_ms;
}

void decision_tell_job(struct decision *decision, enum fact_kind kind,
                       struct allocation *allocation)
{
    decision_add_fact(
        decision,
        &(struct fact){.kind = kind, .workflow = allocation->workflow, .allocation = allocation});
}

void decision_tell_run(struct decision *decision, enum fact_kind kind, struct run *run)
{
    decision_add_fact(decision, &(struct fact){.kind = kind,
                                               .workflow = run->phase->workflow,
                                               .phase = run->phase,
                                               .run = run});
}

void decision_tell_phase(struct decision *decision, enum fact_kind kind, struct phase *phase,
                         const char *who)
{
    decision_add_fact(
        decision,
        &(struct fact){.kind = kind, .workflow = phase->workflow, .phase = phase, .who = who});
}

bool decision_take(struct decision *decision, struct fact *ret_fact)
{
    struct facts *facts = decision->facts;
    if (facts->taken == facts->count) {
        facts->taken = facts->count = 0;
        return false;
    }
    *ret_fact = facts->items[facts->taken++];
    return true;
}

/* --- States ----------------------------------------------------------------------------------- */

static void decision_history(struct decision *decision, struct phase *phase, struct run *run,
                             const char *from, const char *to, const char *message)
{
    struct core_effect *effect = decision_add(decision, FX_HISTORY, phase->workflow);
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

static void phase_forget_budget(struct phase *phase)
{
    phase->hold_budget = BUDGET_NONE;
    phase->hold_amount = 0;
}

void phase_move(struct decision *decision, struct phase *phase, enum phase_state to,
                const char *reason)
{
    assert(phase_move_is_allowed(phase->state, to));
    const char *from = phase_state_name(phase->state);
    phase->state = to;
    phase->hold = HOLD_NONE;
    if (to != PHASE_HELD && to != PHASE_QUEUED && to != PHASE_ACTIVE) /* its run must still stop */
        phase_forget_budget(phase);
    phase_set_reason(phase, reason);
    decision_save_phase(decision, phase);
    decision_history(decision, phase, NULL, from, phase_state_name(to), phase->reason);
}

void phase_move_held(struct decision *decision, struct phase *phase, enum phase_hold hold,
                     const char *reason)
{
    phase_move(decision, phase, PHASE_HELD, reason);
    phase->hold = hold;
    if (hold != HOLD_USER)
        phase_forget_budget(phase);
}

void run_move(struct decision *decision, struct run *run, enum run_state to, const char *message)
{
    assert(run_move_is_allowed(run->state, to));
    const char *from = run_state_name(run->state);
    run->state = to;
    decision_save_run(decision, run);
    decision_history(decision, run->phase, run, from, run_state_name(to), message);
    if (to == RUN_STARTING || to == RUN_RUNNING)
        decision_tell_run(decision, FACT_RUN_BEGAN, run);
    else if (to == RUN_PENDING)
        decision_tell_run(decision, FACT_RUN_WAITS, run);
}
