/* Whether a phase may begin now, and in which allocation: a new allocation, the allocation that a
 * run before it keeps, or the allocation of a phase beside it. This file asks questions only and
 * changes nothing. */
#include "daemon/core/decision.h"

#include "lib/text.h"

/* Whether the member has an allocation, or waits for one. */
static bool member_has_lane(const struct phase *member)
{
    return member->state == PHASE_QUEUED || member->state == PHASE_ACTIVE ||
           member->state == PHASE_DECIDING;
}

static bool matrix_has_lane(const struct matrix *matrix)
{
    unsigned count = 0;
    for (size_t i = 0; i < matrix->count; i++)
        count += member_has_lane(matrix->members[i]);
    return matrix->lanes == 0 || count < matrix->lanes;
}

bool phase_is_ready(const struct phase *phase)
{
    if (phase->members)
        return false;
    for (size_t i = 0; i < phase->after_count; i++)
        if (phase->workflow->phases[phase->after[i]].state != PHASE_SUCCEEDED)
            return false;
    return !phase->matrix || matrix_has_lane(phase->matrix);
}

/* --- Shape and time --------------------------------------------------------------------------- */

/* How long the member may take, judging by the members that have run. */
static int64_t member_needs_s(const struct phase *member)
{
    const struct workflow *workflow = member->workflow;
    int64_t longest_ms = 0;
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *run = workflow->runs[i];
        if (run->phase->matrix != member->matrix || run->outcome != OUTCOME_SUCCEEDED)
            continue;
        int64_t lasted_ms = run->ended_ms - run->started_ms;
        longest_ms = lasted_ms > longest_ms ? lasted_ms : longest_ms;
    }
    return longest_ms / 800 + member->stop_s; /* a quarter more */
}

/* Whether GPUs of this type (NULL: not known) will do. */
static bool phase_takes(const struct phase *phase, const char *type)
{
    if (!phase->gpu_type)
        return true;
    return type && text_has_item(phase_gpu_types(phase), type);
}

static bool phase_has_shape(const struct phase *phase, const struct phase *from,
                            const struct allocation *allocation)
{
    if (phase->nodes != allocation->node_count ||
        phase->gpus_per_node != allocation->gpus_per_node ||
        phase->cpus_per_node > from->cpus_per_node ||
        !text_equal(phase->slurm_options, from->slurm_options))
        return false;
    return phase_takes(phase, allocation_gpu_type(allocation, from));
}

static bool phase_has_time(const struct phase *phase, const struct allocation *allocation,
                           int64_t now_ms)
{
    bool is_packed = phase->matrix && phase->matrix->lanes > 0; /* the time is for all members */
    int64_t needed_s = is_packed ? member_needs_s(phase) : phase->time_s;
    /* A tenth, ten minutes at most, but at least twice the time to stop. */
    if (phase->has_checkpoint && !is_packed) {
        needed_s = phase->time_s / 10 < 600 ? phase->time_s / 10 : 600;
        if (needed_s < 2 * (int64_t)phase->stop_s)
            needed_s = 2 * (int64_t)phase->stop_s;
    }
    return allocation->started_ms + 1000 * (int64_t)allocation->time_s - now_ms >= 1000 * needed_s;
}

/* The shape must be equal: a larger allocation would waste GPUs. A shared allocation is left to the
 * phases that share it. */
bool phase_fits(const struct phase *phase, const struct run *donor, int64_t now_ms)
{
    const struct phase *from = donor->phase;
    const struct allocation *allocation = donor->seat->allocation;
    int64_t leaves_ms = donor->ended_ms + 1000 * (int64_t)from->linger_s - NEXT_MARGIN_MS;
    if (!donor->has_begun || donor->is_let_go || allocation->ended || now_ms >= leaves_ms ||
        !allocation->started_ms || allocation->is_closed)
        return false;
    bool are_members = phase->matrix && phase->matrix == from->matrix;
    if (!are_members && (phase_shares(phase) || phase_shares(from)))
        return false;
    return phase_has_shape(phase, from, allocation) && phase_has_time(phase, allocation, now_ms);
}

/* --- Keeping ---------------------------------------------------------------------------------- */

/* The members of a serial matrix run one after another in one allocation. */
static struct run *matrix_donor(const struct matrix *matrix)
{
    struct run *donor = NULL;
    bool is_serial = matrix->lanes > 0 && !matrix->is_parallel;
    for (size_t i = 0; is_serial && i < matrix->count; i++) {
        struct run *run = phase_donor(matrix->members[i]);
        if (run && !run->is_let_go && (!donor || run->ended_ms > donor->ended_ms))
            donor = run;
    }
    return donor;
}

struct run *phase_donor(const struct phase *phase)
{
    if (phase->members)
        return matrix_donor(phase->members);
    return phase->run && run_keeps_seat(phase->run) ? phase->run : NULL;
}

/* --- Sharing ---------------------------------------------------------------------------------- */

/* Whether this run keeps its allocation long enough for another run to join. If the allocation has
 * begun, the run must be training: in any other state the run may be at its end. */
static bool run_holds_open(const struct run *run, const struct allocation *allocation)
{
    if (run->state == RUN_ENDED || run->wish != WISH_NONE)
        return false;
    return !allocation->started_ms || run->state == RUN_RUNNING;
}

static bool allocation_is_open(const struct decision *decision, const struct allocation *allocation,
                               const struct run *run, const struct phase *phase)
{
    if (allocation->ended || allocation->is_closed || run->phase == phase ||
        phase_anchor(run->phase) != phase_anchor(phase) || !run_holds_open(run, allocation))
        return false;
    return phase_has_shape(phase, run->phase, allocation) &&
           (!allocation->started_ms || phase_has_time(phase, allocation, decision->now_ms));
}

struct allocation *phase_to_join(const struct decision *decision, const struct phase *phase)
{
    const struct workflow *workflow = phase->workflow;
    for (size_t i = workflow->run_count; i-- > 0;) {
        const struct run *run = workflow->runs[i];
        struct allocation *allocation = run->seat->allocation;
        if (allocation_is_open(decision, allocation, run, phase))
            return allocation;
    }
    return NULL;
}
