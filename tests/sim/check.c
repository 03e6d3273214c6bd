/* What must hold after every commit of the daemon. */
#include "tests/sim/sim.h"

#include "lib/text.h"

void check_history(struct sim *sim, const struct core_effect *effect)
{
    if (effect->run) {
        if (!text_equal(effect->to, "ended"))
            return;
        sim->gate[effect->phase->index] = -1;
        sim->by_person[effect->phase->index] = false;
        if (++sim->endings[effect->run->id] != 1)
            sim_breach(sim, "run %llu ends twice", (unsigned long long)effect->run->id);
        return;
    }
    unsigned phase = effect->phase->index;
    if (!text_equal(effect->to, "succeeded"))
        return;
    if (effect->phase->members) {
        for (unsigned i = 0; i < SIM_PHASES; i++)
            if (!phase_state_is_final(effect->workflow->phases[i].state))
                sim_breach(sim, "the matrix decides before its members are through");
        return;
    }
    if (++sim->successes[phase] != 1)
        sim_breach(sim, "phase %u succeeds twice", phase);
    if (sim->gate[phase] != GATE_PASSED && !sim->by_person[phase])
        sim_breach(sim, "phase %u succeeds without a passed gate or a person", phase);
    if (sim->is_manual[phase] && !sim->by_person[phase])
        sim_breach(sim, "phase %u did not wait for a person", phase);
}

/* No remedy is taken too often, however often the daemon dies meanwhile. */
void check_remedies(struct sim *sim, const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        sim->nodes_wanted[i] = phase->nodes;
        for (size_t j = 0; j < phase->remedy_count; j++)
            if (sim->remedied[i][j] > phase->remedies[j].times)
                sim_breach(sim, "a remedy for %s is taken too often", phase->remedies[j].cause);
    }
}

static bool has_other_candidate(const struct workflow *workflow, const struct seat *seat)
{
    for (size_t i = 0; i < workflow->allocation_count; i++)
        if (workflow->allocations[i]->seat == seat && !workflow->allocations[i]->ended)
            return true;
    return false;
}

/* A run has its seat for itself: its folder, and its GPUs if members run side by side. The
 * candidates of the seat may still come. */
void check_seats(const struct sim *sim, const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *run = workflow->runs[i];
        if (run->state == RUN_ENDED)
            continue;
        if (seat_is_open(run) && run->seat->allocation->ended &&
            has_other_candidate(workflow, run->seat))
            sim_breach(sim, "run %llu waits for what is over, and has another candidate",
                       (unsigned long long)run->id);
        for (size_t j = 0; j < i; j++) {
            const struct run *other = workflow->runs[j];
            bool are_beside = other->seat->allocation == run->seat->allocation;
            if (other->state == RUN_ENDED)
                continue;
            if (text_equal(run->seat->token, other->seat->token))
                sim_breach(sim, "runs %llu and %llu have the same folder",
                           (unsigned long long)run->id, (unsigned long long)other->id);
            if (sim->is_swept && sim->is_beside && are_beside &&
                run->seat->slot == other->seat->slot)
                sim_breach(sim, "runs %llu and %llu have the same GPUs",
                           (unsigned long long)run->id, (unsigned long long)other->id);
        }
    }
}

/* A run that its worker has stopped for a hold is not taken for cancelled. */
void check_holds(struct sim *sim, const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (phase->state != PHASE_HELD || !phase->run)
            continue;
        const struct sim_folder *folder = folder_find(sim, phase->run->id);
        if (folder && folder->holds && phase->run->outcome == OUTCOME_CANCELLED &&
            phase->hold != HOLD_USER)
            sim_breach(sim, "phase %zu is held, and not for its worker", i);
    }
}
