/* The fake matrix. Both phases are its members. This file chooses which members go on and which
 * member is the best. */
#include "tests/sim/sim.h"

#include <assert.h>
#include <string.h>

/* Adds a matrix. Its members run side by side, one after another in a job, or each in its own job.
 */
void matrix_add(struct sim *sim, struct workflow *workflow)
{
    struct phase *phase = &workflow->phases[SIM_PHASES];
    *phase = (struct phase){
        .workflow = workflow,
        .index = SIM_PHASES,
        .name = strdup("sweep"),
        .nodes = 1,
        .slurm_options = strdup("{}"),
    };
    struct matrix *matrix = phase_add_matrix(phase);
    matrix->is_parallel = sim->is_beside;
    matrix->lanes = sim->is_beside ? SIM_PHASES : sim_below(sim, 2);
    matrix->rung_count = 1 + sim_below(sim, 3);
    for (unsigned i = 0; i < SIM_PHASES; i++) {
        workflow->phases[i].beside = NULL;
        matrix_add_member(matrix, &workflow->phases[i]);
    }
}

/* Both members go on, or the later one does. At the end the first member is the best, or the member
 * that a person wants. */
void matrix_choose(const struct matrix *matrix, struct core_choice *choice, struct phase **left)
{
    const struct phase *phase = matrix->phase;
    for (size_t i = 0; i < matrix->count; i++) {
        struct phase *member = matrix->members[i];
        bool is_out = member->state != PHASE_SUCCEEDED || member->rung != phase->rung;
        if (!is_out && (!phase->is_overridden || !matrix->best || matrix->best == member))
            left[choice->count++] = member;
    }
    assert(choice->count > 0);
    choice->goes_on = phase->rung + 1 < matrix->rung_count && !matrix->best;
    choice->best = choice->goes_on ? NULL : left[0];
    if (choice->goes_on && choice->count == SIM_PHASES && phase->rung % 2)
        left[0] = left[--choice->count];
}

/* Members that go on get more steps, and will succeed once more. */
void matrix_climbed(struct sim *sim, const struct core_choice *choice)
{
    for (size_t i = 0; i < choice->count; i++) {
        unsigned phase = choice->members[i]->index;
        sim->steps_wanted[phase] += 40;
        sim->successes[phase] = 0;
        sim->by_person[phase] = false;
        sim->gate[phase] = -1;
    }
}

/* The person is asked about the results of all members. */
void check_matrix(const struct sim *sim, const struct workflow *workflow)
{
    if (!sim->is_swept || workflow->phases[SIM_PHASES].state != PHASE_HELD)
        return;
    for (unsigned i = 0; i < SIM_PHASES; i++)
        if (!phase_state_is_final(workflow->phases[i].state))
            sim_breach(sim, "the matrix is held, and phase %u is %s", i,
                       phase_state_name(workflow->phases[i].state));
}
