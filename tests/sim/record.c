/* The record of a simulated daemon: a copy of the stored part of the model. */
#include "tests/sim/sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static char *string_copy(const char *string)
{
    return string ? strdup(string) : NULL;
}

static void remedies_copy(struct phase *copy, const struct phase *from)
{
    copy->remedies = calloc(from->remedy_count + 1, sizeof *copy->remedies);
    assert(copy->remedies);
    for (size_t i = 0; i < from->remedy_count; i++) {
        copy->remedies[i] = from->remedies[i];
        copy->remedies[i].cause = string_copy(from->remedies[i].cause);
    }
    if (from->remedy)
        copy->remedy = &copy->remedies[from->remedy - from->remedies];
}

static void seat_copy(struct workflow *copy, const struct workflow *from, const struct seat *seat)
{
    struct seat *added = workflow_add_seat(copy);
    *added = *seat;
    added->workflow = copy;
    for (size_t i = 0; i < from->allocation_count; i++) {
        if (from->allocations[i] == seat->allocation)
            added->allocation = copy->allocations[i];
        if (from->allocations[i]->seat == seat)
            copy->allocations[i]->seat = added;
    }
}

static void matrix_copy(struct workflow *copy, const struct matrix *from)
{
    struct matrix *matrix = phase_add_matrix(&copy->phases[from->phase->index]);
    matrix->lanes = from->lanes;
    matrix->is_parallel = from->is_parallel;
    matrix->rung_count = from->rung_count;
    matrix->best = from->best ? &copy->phases[from->best->index] : NULL;
    for (size_t i = 0; i < from->count; i++)
        matrix_add_member(matrix, &copy->phases[from->members[i]->index]);
}

struct workflow *workflow_copy(const struct workflow *from)
{
    struct workflow *copy = calloc(1, sizeof *copy);
    assert(copy);
    *copy = *from;
    copy->runs = NULL;
    copy->allocations = NULL;
    copy->seats = NULL;
    copy->run_count = copy->allocation_count = copy->seat_count = 0;
    copy->name = string_copy(from->name);
    copy->phases = calloc(from->phase_count, sizeof *copy->phases);
    assert(copy->phases);
    for (size_t i = 0; i < from->phase_count; i++) {
        const struct phase *phase = &from->phases[i];
        copy->phases[i] = *phase;
        copy->phases[i].workflow = copy;
        copy->phases[i].name = string_copy(phase->name);
        copy->phases[i].gpu_type = string_copy(phase->gpu_type);
        copy->phases[i].alternatives = string_copy(phase->alternatives);
        copy->phases[i].slurm_options = string_copy(phase->slurm_options);
        copy->phases[i].checkpoint_path = string_copy(phase->checkpoint_path);
        copy->phases[i].after = calloc(phase->after_count + 1, sizeof *phase->after);
        if (phase->after_count) /* memcpy() does not accept NULL */
            memcpy(copy->phases[i].after, phase->after, phase->after_count * sizeof *phase->after);
        copy->phases[i].run = NULL;
        remedies_copy(&copy->phases[i], phase);
        if (phase->beside)
            copy->phases[i].beside = &copy->phases[phase->beside->index];
        copy->phases[i].matrix = NULL;
        if (phase->members)
            matrix_copy(copy, phase->members);
    }
    for (size_t i = 0; i < from->allocation_count; i++) {
        struct allocation *allocation = workflow_add_allocation(copy);
        *allocation = *from->allocations[i];
        allocation->workflow = copy;
        allocation->tries = 0; /* these are not stored */
        allocation->is_asked = false;
        allocation->absent_seen_ms = 0;
        allocation->end_seen_ms = 0;
        allocation->closed_ms = 0;
    }
    for (size_t i = 0; i < from->seat_count; i++)
        seat_copy(copy, from, from->seats[i]);
    for (size_t i = 0; i < from->run_count; i++) {
        const struct run *run = from->runs[i];
        struct run *added = workflow_add_run(copy, &copy->phases[run->phase->index]);
        *added = *run;
        added->phase = &copy->phases[run->phase->index];
        added->resume_path = string_copy(run->resume_path);
        added->requeues = false; /* these are not stored */
        added->idle_seen_ms = 0;
        for (size_t j = 0; j < from->seat_count; j++)
            if (from->seats[j] == run->seat)
                added->seat = copy->seats[j];
    }
    return copy;
}

/* --- The outbox ------------------------------------------------------------------------------- */

struct sim_outbox *outbox_find(struct sim_outbox *rows, unsigned count, enum core_effect_kind kind,
                               uint64_t target)
{
    for (unsigned i = 0; i < count; i++)
        if (rows[i].kind == kind && rows[i].target == target)
            return &rows[i];
    return NULL;
}

void outbox_apply(struct sim_daemon *daemon, const struct core_effect *effect)
{
    struct sim_outbox row = {effect->kind, core_effect_target(effect), effect->due_ms, false};
    struct sim_outbox *there =
        outbox_find(daemon->outbox, daemon->outbox_count, row.kind, row.target);
    if (effect->is_done && there) {
        const struct sim_outbox *end = &daemon->outbox[daemon->outbox_count--];
        memmove(there, there + 1, (size_t)(end - there - 1) * sizeof *there);
    } else if (!effect->is_done) {
        assert(there || daemon->outbox_count < SIM_OUTBOX_MAX);
        *(there ? there : &daemon->outbox[daemon->outbox_count++]) = row;
    }
}

static bool record_has(struct sim_record *record, enum core_effect_kind kind, uint64_t target)
{
    return outbox_find(record->outbox, record->outbox_count, kind, target);
}

void record_derive(struct sim_record *record)
{
    const struct workflow *workflow = record->workflow;
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        struct allocation *allocation = workflow->allocations[i];
        bool is_cancelled = record_has(record, FX_CANCEL_JOB, allocation->id);
        allocation->is_closed = is_cancelled && !allocation->ended;
        allocation->is_back = is_cancelled && allocation->ended;
    }
    for (size_t i = 0; i < workflow->run_count; i++)
        workflow->runs[i]->is_let_go = record_has(record, FX_TELL_END, workflow->runs[i]->id);
}

/* --- Remedies --------------------------------------------------------------------------------- */

struct workflow *remedy_revision(struct sim *sim, const struct workflow *workflow, unsigned phase)
{
    if (sim_chance(sim, 8))
        return NULL;
    struct workflow *revision = workflow_copy(workflow);
    if (!sim->is_beside && sim_chance(sim, 3))
        revision->phases[phase].nodes = 3 - revision->phases[phase].nodes;
    return revision;
}

void remedy_taken(struct sim *sim, const struct phase *phase, int place)
{
    const struct remedy *remedy = &phase->remedies[place];
    sim->remedied[phase->index][place]++;
    if (remedy->resume == REMEDY_START) {
        sim->fresh_from[phase->index] = sim->folder_count;
        sim->fresh_after[phase->index] = 0;
    }
}
