/* What a commit has to write. The record of the simulated daemon is a copy of the whole model, but
 * the store writes only the rows that effects name. So each object that no effect names must be as
 * in the record before. What the store derives from the outbox, or learns from others than the
 * core, is left out here: whether a run is let go, has saved or was remedied, and its suspect step.
 */
#include "tests/sim/sim.h"

#include "lib/text.h"

#include <string.h>

#define SAME(member) (a->member == b->member)

static bool text_is_same(const char *a, const char *b)
{
    return a && b ? text_equal(a, b) : a == b;
}

static bool remedies_are_same(const struct phase *a, const struct phase *b)
{
    for (size_t i = 0; i < a->remedy_count; i++)
        if (a->remedies[i].used != b->remedies[i].used)
            return false;
    return !a->remedy == !b->remedy &&
           (!a->remedy || a->remedy - a->remedies == b->remedy - b->remedies);
}

static bool choices_are_same(const struct matrix *a, const struct matrix *b)
{
    return !a || (!a->best == !b->best && (!a->best || SAME(best->id)));
}

static bool phase_is_same(const struct phase *a, const struct phase *b)
{
    return SAME(state) && SAME(hold) && text_equal(a->reason, b->reason) && SAME(hold_budget) &&
           SAME(hold_amount) && SAME(is_overridden) && SAME(checkpoint_step) &&
           text_is_same(a->checkpoint_path, b->checkpoint_path) && SAME(is_chosen) &&
           SAME(is_anew) && SAME(attempts) && SAME(losses) && SAME(stalls) && SAME(rung) &&
           memcmp(a->failures, b->failures, sizeof a->failures) == 0 && remedies_are_same(a, b) &&
           choices_are_same(a->members, b->members);
}

/* The newest run in a seat says which job the seat has. */
static bool run_is_same(const struct run *a, const struct run *b)
{
    return SAME(state) && SAME(outcome) && SAME(cause) && SAME(stop_reason) && SAME(seat->id) &&
           text_equal(a->message, b->message) && SAME(in_place) && SAME(has_begun) && SAME(wish) &&
           text_is_same(a->resume_path, b->resume_path) && SAME(resume_step) && SAME(begin_step) &&
           SAME(last_step) && SAME(exit_code) && SAME(signal) && SAME(submitted_ms) &&
           SAME(started_ms) && SAME(ended_ms) && !a->silent_since_ms == !b->silent_since_ms &&
           SAME(told_ms) && (seat_run(b->seat) != b || SAME(seat->allocation->id));
}

static bool allocation_is_same(const struct allocation *a, const struct allocation *b)
{
    return SAME(slurm_id) && SAME(ended) && SAME(state) && text_equal(a->reason, b->reason) &&
           text_equal(a->nodes, b->nodes) && SAME(time_s) && SAME(restarts) && SAME(submitted_ms) &&
           SAME(started_ms) && SAME(ended_ms) && SAME(absent_since_ms);
}

static bool is_saved(const struct core_effects *effects, enum core_effect_kind kind, uint64_t id)
{
    for (size_t i = 0; i < effects->count; i++) {
        const struct core_effect *effect = &effects->items[i];
        if (effect->kind != kind)
            continue;
        if ((kind == FX_SAVE_SEAT ? effect->run->seat->id : core_effect_target(effect)) == id)
            return true;
    }
    return false;
}

static void expect_saved(const struct sim *sim, const struct core_effects *effects,
                         enum core_effect_kind kind, uint64_t id)
{
    if (!is_saved(effects, kind, id))
        sim_breach(sim, "%s %llu is missing", core_effect_rows[kind].name, (unsigned long long)id);
}

void check_saved(const struct sim *sim, const struct core_effects *effects,
                 const struct workflow *after)
{
    const struct workflow *before = sim->record.workflow;
    if (!before) /* a submission writes all rows */
        return;
    if (before->submitted_ms != after->submitted_ms || before->ended_ms != after->ended_ms)
        expect_saved(sim, effects, FX_SAVE_WORKFLOW, after->id);
    for (size_t i = 0; i < after->phase_count; i++)
        if (!phase_is_same(&before->phases[i], &after->phases[i]))
            expect_saved(sim, effects, FX_SAVE_PHASE, after->phases[i].id);
    for (size_t i = before->seat_count; i < after->seat_count; i++) /* a seat never changes */
        expect_saved(sim, effects, FX_SAVE_SEAT, after->seats[i]->id);
    for (size_t i = 0; i < after->allocation_count; i++)
        if (i >= before->allocation_count ||
            !allocation_is_same(before->allocations[i], after->allocations[i]))
            expect_saved(sim, effects, FX_SAVE_JOB, after->allocations[i]->id);
    for (size_t i = 0; i < after->run_count; i++)
        if (i >= before->run_count || !run_is_same(before->runs[i], after->runs[i]))
            expect_saved(sim, effects, FX_SAVE_RUN, after->runs[i]->id);
}
