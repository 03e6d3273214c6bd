/* Workflows in memory: adding, freeing, and questions about them. */
#include "daemon/core/model.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>

static void phase_fini(struct phase *phase)
{
    if (phase->members)
        free(phase->members->members);
    free(phase->members);
    free(phase->name);
    free(phase->after);
    free(phase->gpu_type);
    free(phase->alternatives);
    free(phase->slurm_options);
    free(phase->checkpoint_path);
    free(phase->reused_from);
    for (size_t i = 0; i < phase->remedy_count; i++)
        free(phase->remedies[i].cause);
    free(phase->remedies);
}

static void text_adopt(char **text, const char *from)
{
    char *copy = xstrdup_or_null(from);
    free(*text);
    *text = copy;
}

void phase_adopt(struct phase *phase, const struct phase *revised)
{
    phase->promote_manual = revised->promote_manual;
    phase->fail_finally = revised->fail_finally;
    phase->has_checkpoint = revised->has_checkpoint;
    phase->nodes = revised->nodes;
    phase->gpus_per_node = revised->gpus_per_node;
    phase->cpus_per_node = revised->cpus_per_node;
    phase->time_s = revised->time_s;
    phase->stop_s = revised->stop_s;
    phase->linger_s = revised->linger_s;
    text_adopt(&phase->gpu_type, revised->gpu_type);
    text_adopt(&phase->alternatives, revised->alternatives);
    text_adopt(&phase->slurm_options, revised->slurm_options);
}

void phase_count_remedies(const struct phase *phase, const char *cause, unsigned *ret_used,
                          unsigned *ret_times)
{
    *ret_used = *ret_times = 0;
    for (size_t i = 0; i < phase->remedy_count; i++) {
        if (!text_equal(phase->remedies[i].cause, cause))
            continue;
        *ret_used += phase->remedies[i].used;
        *ret_times += phase->remedies[i].times;
    }
}

struct matrix *phase_add_matrix(struct phase *phase)
{
    phase->members = xcalloc(1, sizeof *phase->members);
    *phase->members = (struct matrix){.phase = phase, .rung_count = 1};
    return phase->members;
}

void matrix_add_member(struct matrix *matrix, struct phase *member)
{
    assert(member->index < matrix->phase->index && !member->matrix);
    matrix->members = xrealloc(matrix->members, (matrix->count + 1) * sizeof(struct phase *));
    size_t at = matrix->count++;
    for (; at > 0 && matrix->members[at - 1]->index > member->index; at--)
        matrix->members[at] = matrix->members[at - 1];
    matrix->members[at] = member;
    member->matrix = matrix;
    if (matrix->is_parallel)
        member->beside = matrix->phase;
}

struct run *workflow_add_run(struct workflow *workflow, struct phase *phase)
{
    assert(phase->workflow == workflow);
    struct run *run = xcalloc(1, sizeof *run);
    workflow->runs = xreallocarray(workflow->runs, workflow->run_count + 1, sizeof *workflow->runs);
    workflow->runs[workflow->run_count++] = run;
    run->phase = phase;
    run->stop_reason = STOP_REASON_COUNT;
    run->resume_step = run->begin_step = run->last_step = run->suspect_step = -1;
    phase->run = run;
    return run;
}

struct allocation *workflow_add_allocation(struct workflow *workflow)
{
    struct allocation *allocation = xcalloc(1, sizeof *allocation);
    workflow->allocations = xreallocarray(workflow->allocations, workflow->allocation_count + 1,
                                          sizeof *workflow->allocations);
    workflow->allocations[workflow->allocation_count++] = allocation;
    allocation->workflow = workflow;
    return allocation;
}

struct seat *workflow_add_seat(struct workflow *workflow)
{
    struct seat *seat = xcalloc(1, sizeof *seat);
    workflow->seats =
        xreallocarray(workflow->seats, workflow->seat_count + 1, sizeof *workflow->seats);
    workflow->seats[workflow->seat_count++] = seat;
    seat->workflow = workflow;
    return seat;
}

bool workflow_is_final(const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (!phase_state_is_final(workflow->phases[i].state))
            return false;
    return true;
}

enum workflow_state workflow_state(const struct workflow *workflow)
{
    unsigned counts[PHASE_STATE_COUNT] = {0};
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (!phase->matrix ||
            !phase_state_is_final(phase->state)) /* the matrix deals with a member that has ended */
            counts[phase->state]++;
    }
    if (counts[PHASE_QUEUED] || counts[PHASE_ACTIVE] || counts[PHASE_DECIDING])
        return WORKFLOW_RUNNING;
    if (counts[PHASE_HELD])
        return WORKFLOW_HELD;
    if (counts[PHASE_BLOCKED])
        return WORKFLOW_RUNNING;
    if (counts[PHASE_FAILED])
        return WORKFLOW_FAILED;
    return counts[PHASE_CANCELLED] ? WORKFLOW_CANCELLED : WORKFLOW_SUCCEEDED;
}

struct phase *workflow_phase(const struct workflow *workflow, const char *name)
{
    for (size_t i = 0; workflow && i < workflow->phase_count; i++)
        if (text_equal(workflow->phases[i].name, name))
            return &workflow->phases[i];
    return NULL;
}

const struct phase *phase_anchor(const struct phase *phase)
{
    return phase->beside ? phase->beside : phase;
}

bool phase_shares(const struct phase *phase)
{
    const struct workflow *workflow = phase->workflow;
    if (phase->beside)
        return true;
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (workflow->phases[i].beside == phase)
            return true;
    return false;
}

unsigned phase_parts(const struct phase *phase)
{
    return phase->matrix && phase->matrix->is_parallel ? phase->matrix->lanes : 1;
}

const struct phase *phase_result(const struct phase *phase)
{
    return phase->members && phase->members->best ? phase->members->best : phase;
}

const char *phase_gpu_types(const struct phase *phase)
{
    return phase->alternatives ? phase->alternatives : phase->gpu_type;
}

bool allocation_is_candidate(const struct allocation *allocation)
{
    return allocation->gpu_type[0] != '\0';
}

struct run *seat_run(const struct seat *seat)
{
    const struct workflow *workflow = seat->workflow;
    for (size_t i = workflow->run_count; i-- > 0;)
        if (workflow->runs[i]->seat == seat)
            return workflow->runs[i];
    assert(false && "a seat without a run");
    return NULL;
}

struct run *allocation_run(const struct allocation *allocation)
{
    return seat_run(allocation->seat);
}

bool seat_is_joined(const struct seat *seat)
{
    return seat->allocation->seat != seat;
}

bool run_is_given(const struct run *run)
{
    return run->in_place || seat_is_joined(run->seat);
}

bool seat_is_open(const struct run *run)
{
    return allocation_is_candidate(run->seat->allocation) && !run->in_place && !run->has_begun &&
           run->state != RUN_ENDED;
}

bool run_is_in(const struct run *run, const struct allocation *allocation)
{
    return run->seat->allocation == allocation ||
           (allocation->seat == run->seat && seat_is_open(run));
}

bool run_keeps_seat(const struct run *run)
{
    return run->state == RUN_ENDED && !run->seat->allocation->ended && seat_run(run->seat) == run;
}

int64_t run_earliest_ms(const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    for (size_t i = workflow->run_count; i-- > 0 && run->in_place;) {
        const struct run *before = workflow->runs[i];
        if (before->seat == run->seat && before->id < run->id)
            return before->ended_ms;
    }
    return run->submitted_ms;
}

struct run *allocation_next_run(const struct allocation *allocation, size_t *at)
{
    const struct workflow *workflow = allocation->workflow;
    while (*at < workflow->run_count) {
        struct run *run = workflow->runs[(*at)++];
        if (run_is_in(run, allocation))
            return run;
    }
    return NULL;
}

bool allocation_is_idle(const struct allocation *allocation)
{
    const struct run *run;
    for (size_t at = 0; (run = allocation_next_run(allocation, &at));)
        if (run->state != RUN_ENDED)
            return false;
    return true;
}

bool allocation_is_left(const struct allocation *allocation)
{
    const struct run *run;
    bool may_follow = !workflow_is_final(allocation->workflow);
    for (size_t at = 0; (run = allocation_next_run(allocation, &at));)
        if (run->state != RUN_ENDED ||
            (may_follow && run_keeps_seat(run) && run->has_begun && !run->is_let_go))
            return false;
    return true;
}

bool run_is_served_by(const struct run *run, const char *token)
{
    const struct seat *seat = run->seat;
    const struct workflow *workflow = seat->workflow;
    if (text_equal(seat->token, token) || text_equal(seat->allocation->token, token))
        return true;
    for (size_t i = 0; i < workflow->allocation_count; i++)
        if (workflow->allocations[i]->seat == seat &&
            text_equal(workflow->allocations[i]->token, token))
            return true;
    return false;
}

const char *allocation_gpu_type(const struct allocation *allocation, const struct phase *phase)
{
    return allocation_is_candidate(allocation) ? allocation->gpu_type : phase->gpu_type;
}

int64_t allocation_quiet_since_ms(const struct allocation *allocation)
{
    return allocation->end_seen_ms > allocation->ended_ms ? allocation->end_seen_ms
                                                          : allocation->ended_ms;
}

void workflow_free(struct workflow *workflow)
{
    if (!workflow)
        return;
    for (size_t i = 0; i < workflow->phase_count; i++)
        phase_fini(&workflow->phases[i]);
    for (size_t i = 0; i < workflow->run_count; i++) {
        free(workflow->runs[i]->resume_path);
        free(workflow->runs[i]);
    }
    for (size_t i = 0; i < workflow->allocation_count; i++)
        free(workflow->allocations[i]);
    for (size_t i = 0; i < workflow->seat_count; i++)
        free(workflow->seats[i]);
    free(workflow->phases);
    free(workflow->runs);
    free(workflow->allocations);
    free(workflow->seats);
    free(workflow->name);
    free(workflow);
}
