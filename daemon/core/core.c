/* The core: all workflows in memory, and the table that says which layer gets which event or fact.
 */
#include "daemon/core/core.h"

#include "daemon/core/decision.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct core {
    struct core_config config;
    struct workflow **workflows; /* oldest first */
    size_t count, capacity;
    struct facts facts;
};

struct core *core_new(const struct core_config *config)
{
    struct core *core = xcalloc(1, sizeof *core);
    core->config = *config;
    return core;
}

void core_free(struct core *core)
{
    if (!core)
        return;
    for (size_t i = 0; i < core->count; i++)
        workflow_free(core->workflows[i]);
    free(core->workflows);
    free(core->facts.items);
    free(core);
}

void core_add(struct core *core, struct workflow *workflow)
{
    if (core->count == core->capacity) {
        core->capacity = core->capacity ? 2 * core->capacity : 16;
        core->workflows = xrealloc(core->workflows, core->capacity * sizeof(struct workflow *));
    }
    bool is_new = workflow->id == 0;
    if (is_new)
        workflow->id = ++core->config.last_workflow;
    for (size_t i = 0; i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        assert(phase->workflow == workflow && phase->index == i);
        if (is_new)
            phase->id = ++core->config.last_phase;
    }
    size_t at = core->count++;
    for (; at > 0 && core->workflows[at - 1]->id > workflow->id; at--)
        core->workflows[at] = core->workflows[at - 1];
    core->workflows[at] = workflow;
}

/* The index of the first workflow whose id is not below `id`. The workflows are sorted by id. */
static size_t core_find(const struct core *core, uint64_t id)
{
    size_t low = 0, high = core->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->workflows[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void core_drop(struct core *core, struct workflow *workflow)
{
    size_t at = core_find(core, workflow->id);
    assert(at < core->count && core->workflows[at] == workflow);
    core->count--;
    for (; at < core->count; at++)
        core->workflows[at] = core->workflows[at + 1];
    workflow_free(workflow);
}

void core_give_again(struct core *core, uint64_t workflow)
{
    if (core_find(core, workflow) == core->count)
        core->config.last_workflow = workflow - 1;
}

struct workflow *core_workflow(const struct core *core, uint64_t id)
{
    size_t at = core_find(core, id);
    return at < core->count && core->workflows[at]->id == id ? core->workflows[at] : NULL;
}

size_t core_workflow_count(const struct core *core)
{
    return core->count;
}

struct workflow *core_workflow_at(const struct core *core, size_t index)
{
    assert(index < core->count);
    return core->workflows[index];
}

/* --- Events ----------------------------------------------------------------------------------- */

/* The reason of a first phase: "submitted by anna", or "" if the submission does not say by whom.
 */
static void core_submission_reason(const struct core_event *event, char reason[REASON_MAX])
{
    const char *who = event->message ? event->message : "";
    const char *what = event->hold ? "held at its submission" : *who ? "submitted" : "";
    (void)snprintf(reason, REASON_MAX, "%s%s%.100s", what, *who ? " by " : "", who);
}

/* The submission writes the rows of the workflow and its phases as they are after this event. */
static void core_on_added(struct decision *decision, const struct fact *fact)
{
    struct workflow *workflow = fact->workflow;
    workflow->submitted_ms = decision->now_ms;
    for (size_t i = 0; i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        char reason[REASON_MAX];
        if (phase->reused) {
            (void)snprintf(reason, sizeof reason, "the results of %s", phase->reused_from);
            phase_move(decision, phase, PHASE_SUCCEEDED, reason);
        }
        /* A matrix whose results are all known would decide at once. */
        bool decides = decision->event->hold && phase->members && matrix_is_through(phase->members);
        if (phase->reused || (!phase_is_ready(phase) && !decides))
            continue;
        core_submission_reason(decision->event, reason);
        if (decision->event->hold)
            phase_move_held(decision, phase, HOLD_USER, reason);
        else
            phase_start(decision, phase, reason, 0);
    }
}

static void core_on_time(struct decision *decision, const struct core *core)
{
    for (size_t i = 0; i < core->count; i++) {
        struct workflow *workflow = core->workflows[i];
        for (size_t j = 0; j < workflow->run_count; j++)
            run_on_time(decision, workflow->runs[j]);
    }
}

/* Moves times by as much as the clock was set. A time that would then be in the future came from a
 * clock that was ahead: it becomes the present time. False: no time has changed. */
static bool core_move_times(const struct decision *decision, int64_t *const *times_ms, size_t count)
{
    bool has_moved = false;
    for (size_t i = 0; i < count; i++) {
        int64_t moved_ms = *times_ms[i] + decision->event->step;
        if (!*times_ms[i])
            continue;
        if (moved_ms > decision->now_ms)
            moved_ms = decision->now_ms;
        has_moved |= moved_ms != *times_ms[i];
        *times_ms[i] = moved_ms > 0 ? moved_ms : 1;
    }
    return has_moved;
}

static void core_move_allocation(struct decision *decision, struct allocation *allocation)
{
    int64_t started_ms = allocation->started_ms;
    int64_t *const times_ms[] = {&allocation->submitted_ms,   &started_ms,
                                 &allocation->ended_ms,       &allocation->absent_since_ms,
                                 &allocation->absent_seen_ms, &allocation->end_seen_ms,
                                 &allocation->closed_ms};
    if (core_move_times(decision, times_ms, sizeof times_ms / sizeof *times_ms))
        decision_save_job(decision, allocation);
    /* Runs that have ended know the start, too. */
    allocation_set_start(decision, allocation, started_ms);
}

static void core_move_run(struct decision *decision, struct run *run)
{
    int64_t *const times_ms[] = {&run->submitted_ms,    &run->started_ms, &run->ended_ms,
                                 &run->silent_since_ms, &run->told_ms,    &run->idle_ms,
                                 &run->idle_seen_ms};
    if (core_move_times(decision, times_ms, sizeof times_ms / sizeof *times_ms))
        decision_save_run(decision, run);
}

/* Whether the allocation waits or goes on. After its end it goes on as long as one of its runs goes
 * on. */
static bool allocation_is_moved(const struct allocation *allocation)
{
    return !allocation->ended || !allocation_is_idle(allocation);
}

/* Moves the times of allocations and runs that go on, so that they last neither longer nor shorter
 * when the clock is set. Allocations and runs that have ended are history, and keep their times. */
static void core_on_clock(struct decision *decision, const struct core *core)
{
    for (size_t i = 0; i < core->count; i++) {
        struct workflow *workflow = core->workflows[i];
        if (workflow_is_final(workflow))
            continue;
        for (size_t j = 0; j < workflow->allocation_count; j++)
            if (allocation_is_moved(workflow->allocations[j]))
                core_move_allocation(decision, workflow->allocations[j]);
        for (size_t j = 0; j < workflow->run_count; j++)
            if (workflow->runs[j]->state != RUN_ENDED || run_keeps_seat(workflow->runs[j]))
                core_move_run(decision, workflow->runs[j]);
    }
}

/* A gate, or the choice of a matrix, was worked out. */
static void core_on_judged(struct decision *decision, const struct fact *fact)
{
    struct core_effect *done = decision_add(decision, FX_JUDGE, fact->workflow);
    done->phase = fact->phase;
    done->is_done = true;
    (fact->phase->members ? matrix_on_fact : phase_on_fact)(decision, fact);
}

/* Which layer is told an event or a fact. */
static void (*const listeners[FACT_COUNT])(struct decision *decision, const struct fact *fact) = {
    [EV_ADDED] = core_on_added,
    [EV_SUBMITTED] = allocation_on_fact,
    [EV_REFUSED] = allocation_on_fact,
    [EV_LIMITED] = allocation_on_fact,
    [EV_UNSURE] = allocation_on_fact,
    [EV_UNKNOWN] = allocation_on_fact,
    [EV_JOB_SEEN] = allocation_on_fact,
    [EV_JOB_ABSENT] = allocation_on_fact,
    [FACT_JOB_KNOWN] = run_on_job_fact,
    [FACT_JOB_RUNS] = run_on_job_fact,
    [FACT_JOB_WAITS] = run_on_job_fact,
    [FACT_JOB_MISSED] = run_on_job_fact,
    [FACT_JOB_RESTARTED] = run_on_job_fact,
    [FACT_JOB_REFUSED] = run_on_job_fact,
    [FACT_JOB_GIVEN_UP] = run_on_job_fact,
    [FACT_JOB_STUCK] = run_on_job_fact,
    [FACT_JOB_BACK] = run_on_job_fact,
    [FACT_JOB_ENDED] = run_on_job_fact,
    [EV_RUN_STARTED] = run_on_fact,
    [EV_RUN_STOPPING] = run_on_fact,
    [EV_RUN_ENDED] = run_on_fact,
    [EV_RUN_SILENT] = run_on_fact,
    [EV_SEALED] = run_on_fact,
    [EV_PROGRESS] = run_on_fact,
    [EV_CHECKPOINT] = checkpoint_on_saved,
    [EV_SUSPECT] = checkpoint_on_suspect,
    [FACT_RUN_BEGAN] = phase_on_fact,
    [FACT_RUN_WAITS] = phase_on_fact,
    [FACT_RUN_ENDED] = phase_on_fact,
    [FACT_RUN_REQUEUED] = phase_on_fact,
    [FACT_RUN_CANCELLED] = phase_on_fact,
    [EV_JUDGED] = core_on_judged,
    [EV_REMEDIED] = phase_on_fact,
    [FACT_PHASE_SUCCEEDED] = graph_on_fact,
    [FACT_PHASE_LOST] = graph_on_fact,
    [EV_COMMAND] = command_on_fact,
};

/* Passes facts on in order, until no fact is left. */
static void core_drain(struct decision *decision)
{
    struct fact fact;
    decision->fact = &fact;
    while (decision_take(decision, &fact))
        listeners[fact.kind](decision, &fact);
    decision->fact = NULL;
}

/* Decides what follows from the state of all objects, whichever event has changed it. */
static void core_settle(struct decision *decision, struct workflow *workflow)
{
    static void (*const settlers[])(struct decision * decision, struct workflow * workflow) = {
        allocation_settle, matrix_settle, workflow_settle};
    core_drain(decision);
    for (size_t i = 0; i < sizeof settlers / sizeof *settlers; i++) {
        settlers[i](decision, workflow);
        core_drain(decision);
    }
}

void core_decide(struct core *core, const struct core_event *event, struct core_effects *effects)
{
    struct fact fact = {.kind = event->kind,
                        .workflow = event->workflow,
                        .phase = event->phase,
                        .run = event->run,
                        .allocation = event->allocation};
    struct decision decision = {.config = &core->config,
                                .facts = &core->facts,
                                .event = event,
                                .effects = effects,
                                .now_ms = event->now_ms,
                                .fact = &fact};
    assert(event->kind < EV_COUNT);
    if (event->kind == EV_TIME || event->kind == EV_CLOCK) {
        (event->kind == EV_TIME ? core_on_time : core_on_clock)(&decision, core);
        core_drain(&decision);
        return;
    }
    assert(event->workflow && (!event->run || event->run->phase->workflow == event->workflow) &&
           (!event->phase || event->phase->workflow == event->workflow));
    listeners[event->kind](&decision, &fact);
    core_settle(&decision, event->workflow);
}

int64_t core_deadline(const struct core *core)
{
    int64_t nearest = INT64_MAX;
    for (size_t i = 0; i < core->count; i++) {
        const struct workflow *workflow = core->workflows[i];
        for (size_t j = 0; j < workflow->run_count; j++) {
            int64_t deadline = run_deadline(workflow->runs[j]);
            if (deadline < nearest)
                nearest = deadline;
        }
    }
    return nearest;
}

bool core_is_busy(const struct core *core, int64_t now_ms)
{
    for (size_t i = 0; i < core->count; i++) {
        const struct workflow *workflow = core->workflows[i];
        for (size_t j = 0; j < workflow->run_count; j++)
            if (run_is_busy(workflow->runs[j], now_ms))
                return true;
        if (allocation_is_going(workflow))
            return true;
    }
    return false;
}
