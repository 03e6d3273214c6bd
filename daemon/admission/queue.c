/* Decides whether a job may be submitted now. */
#include "daemon/admission/admission.h"
#include "daemon/admission/admission_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What a round knows of a workflow. */
struct queue_line {
    struct workflow *workflow;
    unsigned has; /* runs with jobs in Slurm */
    bool is_paid_for;
    enum round_wait wait;
    char reason[REASON_MAX];
};

/* A job that waited during the last round, and what it waited for. */
struct queue_place {
    struct queue_line *line;
    uint64_t job;
    enum round_wait wait;
    bool has_gone;     /* the job has asked after the round, and was told that it goes */
    unsigned position; /* the place of its run among the runs that wait for limits.yaml, from 1; 0:
                      no place */
};

static void round_end(struct queue *queue)
{
    map_fini(&queue->by_job);
    free(queue->places);
    free(queue->lines);
    queue->by_job = (struct map){0};
    queue->places = NULL;
    queue->place_count = 0;
    queue->lines = NULL;
}

/* --- What is in Slurm ------------------------------------------------------------------------- */

/* Whether Slurm has the job, or may have it. */
static bool is_in_slurm(const struct loop *loop, const struct allocation *job)
{
    enum effect_state submit;
    if (job->ended)
        return false;
    if (job->slurm_id || loop_effect(loop, FX_LOOKUP, job->id))
        return true;
    submit = loop_effect(loop, FX_SUBMIT, job->id);
    return submit == EFFECT_UNDER_WAY || submit == EFFECT_STANDING;
}

static unsigned gpus_of(const struct allocation *job)
{
    return job->node_count * job->gpus_per_node;
}

/* Adds the jobs that the workflow has in Slurm to `used`. All candidates for a seat are one run.
 * They follow each other, because they were made one after another. Their seats are put into
 * `runs`. */
static void count_workflow(const struct loop *loop, const struct workflow *workflow,
                           struct round_limits *used, struct map *runs)
{
    const struct seat *seat = NULL;
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        const struct allocation *job = workflow->allocations[i];
        if (!is_in_slurm(loop, job))
            continue;
        used->jobs++;
        if (job->seat == seat)
            continue;
        seat = job->seat;
        if (allocation_is_candidate(job))
            map_put(runs, seat->id, job->seat);
        used->running++;
        used->gpus += gpus_of(job);
    }
}

/* --- What each workflow waits for ------------------------------------------------------------- */

bool queue_is_open(unsigned window_from, unsigned window_to, unsigned minute)
{
    if (window_from == window_to)
        return true;
    if (window_from < window_to)
        return minute >= window_from && minute < window_to;
    return minute >= window_from || minute < window_to;
}

static bool is_in_window(const struct workflow *workflow, char reason[REASON_MAX])
{
    time_t now = loop_now_ms() / 1000;
    struct tm tm;
    (void)localtime_r(&now, &tm);
    if (queue_is_open(workflow->window_from, workflow->window_to,
                      (unsigned)(tm.tm_hour * 60 + tm.tm_min)))
        return true;
    (void)snprintf(reason, REASON_MAX, "its window opens at %02u:%02u", workflow->window_from / 60,
                   workflow->window_from % 60);
    return false;
}

/* A failed workflow before this one may still be retried. */
static bool is_after(struct loop *loop, struct workflow *workflow, char reason[REASON_MAX])
{
    enum workflow_state state = WORKFLOW_SUCCEEDED;
    unsigned long long id = workflow->after;
    const struct workflow *before = core_workflow(loop_core(loop), id);
    int status = 0;
    if (!id)
        return true;
    if (before)
        state = workflow_state(before);
    else
        status = store_workflow_state(loop_store(loop), id, &state, NULL, NULL);
    if (status < 0) {
        (void)snprintf(reason, REASON_MAX, "waits for workflow %llu (--after)%s", id,
                       status == -ENOENT ? ", which is not in the record: cancel this workflow"
                                         : "; the record cannot be read");
        return false;
    }
    if (state == WORKFLOW_SUCCEEDED)
        return true;
    int size = snprintf(reason, REASON_MAX, "waits for workflow %llu (--after), which %s %s", id,
                        state_verb(workflow_state_name(state)), workflow_state_name(state));
    if (workflow_state_is_final(state))
        (void)snprintf(reason + size, REASON_MAX - (size_t)size,
                       ": retry workflow %llu, or cancel workflow %llu", id,
                       (unsigned long long)workflow->id);
    return false;
}

/* The budget is left out. It is asked for last, because that needs a look at the record. */
static enum round_wait wait_of(struct loop *loop, struct workflow *workflow,
                               char reason[REASON_MAX])
{
    if (!is_after(loop, workflow, reason))
        return ROUND_AFTER;
    return is_in_window(workflow, reason) ? ROUND_GOES : ROUND_WINDOW;
}

/* --- A round ---------------------------------------------------------------------------------- */

struct round {
    struct admission *admission;
    struct round_job *jobs;
    size_t count;
    struct round_limits used; /* by what is in Slurm */
    struct map runs;          /* seats with candidates in Slurm */
    const struct map *before;
};

/* Whether the job has a place in the round. A job that waits for Slurm, or for the end of a pause
 * after a failure, has no place. A job that was admitted in the last round, and has not asked yet,
 * keeps its place. Otherwise a new job would overtake it. */
static bool is_in_round(const struct round *round, const struct allocation *job)
{
    enum effect_state state = loop_effect(round->admission->loop, FX_SUBMIT, job->id);
    const struct queue_place *before = map_find(round->before, job->id);
    return (state == EFFECT_DUE || (state == EFFECT_WAITING && before && !before->has_gone)) &&
           core_allocation_is_needed(job);
}

static void round_add(struct round *round, struct queue_line *line, const struct allocation *job)
{
    struct queue *queue = &round->admission->queue;
    struct queue_place *place = &queue->places[queue->place_count++];
    *place = (struct queue_place){.line = line, .job = job->id, .wait = line->wait};
    map_put(&queue->by_job, job->id, place);
    if (line->wait != ROUND_GOES)
        return;
    round->jobs[round->count++] = (struct round_job){
        .workflow = line->workflow->id,
        .id = job->id,
        .run = job->seat->id,
        .priority = line->workflow->priority,
        .has = line->has,
        .gpus = gpus_of(job),
        .is_candidate = map_find(&round->runs, job->seat->id),
        .context = place,
    };
}

static void round_add_workflow(struct round *round, struct queue_line *line)
{
    struct workflow *workflow = line->workflow;
    unsigned before = round->used.running;
    bool is_asked = false;
    count_workflow(round->admission->loop, workflow, &round->used, &round->runs);
    line->has = round->used.running - before;
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        if (!is_in_round(round, workflow->allocations[i]))
            continue;
        if (!is_asked)
            line->wait = wait_of(round->admission->loop, workflow, line->reason);
        is_asked = true;
        round_add(round, line, workflow->allocations[i]);
    }
}

static bool queue_is_paid_for(struct loop *loop, const struct workflow *workflow,
                              char ret_reason[REASON_MAX])
{
    struct admission_spent spent;
    bool pays = admission_pays(loop, workflow, &spent);
    if (!pays)
        (void)snprintf(ret_reason, REASON_MAX, "%s", spent.reason);
    return pays;
}

static bool round_may(void *context, struct round_job *job)
{
    struct loop *loop = context;
    struct queue_line *line = ((const struct queue_place *)job->context)->line;
    if (!line->is_paid_for && line->wait == ROUND_GOES) {
        line->is_paid_for = queue_is_paid_for(loop, line->workflow, line->reason);
        line->wait = line->is_paid_for ? ROUND_GOES : ROUND_BUDGET;
    }
    job->wait = line->wait;
    return line->is_paid_for;
}

/* Tells each place what was decided. Jobs for one run follow each other. */
static void round_tell(const struct round *round)
{
    uint64_t run = 0;
    unsigned position = 0;
    for (size_t i = 0; i < round->count; i++) {
        struct queue_place *place = round->jobs[i].context;
        place->wait = round->jobs[i].wait;
        if (place->wait < ROUND_JOBS)
            continue;
        position += round->jobs[i].run != run;
        run = round->jobs[i].run;
        place->position = position;
    }
}

static void round_hold(struct admission *admission)
{
    struct queue *queue = &admission->queue;
    const struct core *core = loop_core(admission->loop);
    size_t workflows = core_workflow_count(core), jobs = 0;
    struct queue before = *queue;
    struct round round = {.admission = admission, .before = &before.by_job};
    for (size_t i = 0; i < workflows; i++)
        jobs += core_workflow_at(core, i)->allocation_count;
    queue->lines = xcalloc(workflows + 1, sizeof *queue->lines);
    queue->places = xcalloc(jobs + 1, sizeof *queue->places);
    queue->place_count = 0;
    queue->by_job = (struct map){0};
    round.jobs = xcalloc(jobs + 1, sizeof *round.jobs);
    for (size_t i = 0; i < workflows; i++) {
        queue->lines[i].workflow = core_workflow_at(core, i);
        round_add_workflow(&round, &queue->lines[i]);
    }
    round_decide(round.jobs, round.count, &queue->bounds, &round.used, round_may, admission->loop);
    round_tell(&round);
    queue->is_stale = false;
    free(round.jobs);
    map_fini(&round.runs);
    round_end(&before);
}

/* --- The answer ------------------------------------------------------------------------------- */

/* Says what a job waits for because of limits.yaml. The words must not change while the reason is
 * the same, because every change is written to the record. */
static void say_bound(const struct round_limits *bounds, enum round_wait wait, unsigned gpus,
                      char reason[REASON_MAX])
{
    switch (wait) {
    case ROUND_NEVER:
        (void)snprintf(reason, REASON_MAX, "it asks for %u GPUs; limits.yaml allows %u", gpus,
                       bounds->gpus);
        break;
    case ROUND_JOBS:
        (void)snprintf(reason, REASON_MAX, "limits.yaml allows %u job%s in Slurm at a time",
                       bounds->jobs, bounds->jobs == 1 ? "" : "s");
        break;
    case ROUND_RUNNING:
        (void)snprintf(
            reason, REASON_MAX,
            "limits.yaml allows %u running job%s at a time, and as many run or may start",
            bounds->running, bounds->running == 1 ? "" : "s");
        break;
    case ROUND_GPUS:
        (void)snprintf(reason, REASON_MAX, "it needs %u of the %u GPU%s that limits.yaml allows",
                       gpus, bounds->gpus, bounds->gpus == 1 ? "" : "s");
        break;
    case ROUND_BEHIND:
        (void)snprintf(reason, REASON_MAX, "other jobs that wait for limits.yaml come first");
        break;
    case ROUND_AFTER:
    case ROUND_WINDOW:
    case ROUND_BUDGET:
    case ROUND_GOES:
        assert(false && "no bound");
    }
}

static unsigned limit_of(const json_t *file, const char *key)
{
    return (unsigned)json_integer_value(json_object_get(file, key));
}

static struct round_limits bounds_of(const json_t *file)
{
    return (struct round_limits){.jobs = limit_of(file, "jobs"),
                                 .running = limit_of(file, "running_jobs"),
                                 .gpus = limit_of(file, "gpus")};
}

static bool has_bounds(const struct round_limits *bounds)
{
    return bounds->jobs || bounds->running || bounds->gpus;
}

/* Whether a job waits for the limits already. */
static bool is_full(const struct admission *admission)
{
    const struct queue *queue = &admission->queue;
    for (size_t i = 0; i < queue->place_count; i++) {
        enum effect_state state = loop_effect(admission->loop, FX_SUBMIT, queue->places[i].job);
        if (queue->places[i].wait >= ROUND_JOBS && (state == EFFECT_WAITING || state == EFFECT_DUE))
            return true;
    }
    return false;
}

enum admission_when admission_forecast(struct loop *loop, unsigned gpus,
                                       char ret_reason[REASON_MAX])
{
    struct admission *admission = loop_room(loop, &admission_room);
    const struct core *core = loop_core(loop);
    const json_t *file = limits_get(admission);
    const struct round_limits bounds = bounds_of(file);
    struct round_limits used = {0};
    struct map runs = {0};
    if (!file) {
        (void)snprintf(ret_reason, REASON_MAX, "%s", admission->limits.problem);
        return ADMISSION_LATER;
    }
    for (size_t i = 0; i < core_workflow_count(core); i++)
        count_workflow(loop, core_workflow_at(core, i), &used, &runs);
    map_fini(&runs);
    enum round_wait wait = round_ask(gpus, true, &bounds, &used);
    if (wait == ROUND_GOES && round_limits_job(&bounds, gpus) && is_full(admission))
        wait = ROUND_BEHIND;
    if (wait == ROUND_GOES)
        return ADMISSION_NOW;
    say_bound(&bounds, wait, gpus, ret_reason);
    return wait == ROUND_NEVER ? ADMISSION_NEVER : ADMISSION_LATER;
}

/* Reads the file once a turn of the loop, so that all jobs of the turn follow the same limits. */
static void read_limits(struct admission *admission)
{
    struct queue *queue = &admission->queue;
    uint64_t now_ms = uv_now(loop_config(admission->loop)->uv);
    if (queue->looked_ms == now_ms)
        return;
    const json_t *file = limits_get(admission);
    queue->looked_ms = now_ms;
    queue->bounds = bounds_of(file);
    queue->has_file = file != NULL;
    queue->is_stale = true;
    if (!has_bounds(&queue->bounds))
        round_end(queue); /* nobody waits for room, so there are no places */
}

int admission_again_in_ms(struct loop *loop)
{
    return ADMISSION_AGAIN_MS - (int)(loop_carry_ms(loop) % ADMISSION_AGAIN_MS);
}

static bool is_admitted(struct admission *admission, const struct allocation *job,
                        char ret_reason[REASON_MAX])
{
    struct queue *queue = &admission->queue;
    if (queue->is_stale || !map_find(&queue->by_job, job->id))
        round_hold(admission);
    struct queue_place *place = map_find(&queue->by_job, job->id);
    assert(place); /* its submission is due */
    place->has_gone = place->wait == ROUND_GOES;
    if (place->wait == ROUND_AFTER || place->wait == ROUND_WINDOW || place->wait == ROUND_BUDGET)
        (void)snprintf(ret_reason, REASON_MAX, "%s", place->line->reason);
    else if (place->wait != ROUND_GOES)
        say_bound(&queue->bounds, place->wait, gpus_of(job), ret_reason);
    return place->wait == ROUND_GOES;
}

bool admission_asks(struct loop *loop, struct workflow *workflow, const struct allocation *job,
                    char ret_reason[REASON_MAX])
{
    struct admission *admission = loop_room(loop, &admission_room);
    read_limits(admission);
    if (!admission->queue.has_file) {
        (void)snprintf(ret_reason, REASON_MAX, "%s", admission->limits.problem);
        return false;
    }
    if (has_bounds(&admission->queue.bounds))
        return is_admitted(admission, job, ret_reason);
    return wait_of(loop, workflow, ret_reason) == ROUND_GOES &&
           queue_is_paid_for(loop, workflow, ret_reason);
}

unsigned admission_position(struct loop *loop, uint64_t job)
{
    const struct admission *admission = loop_room(loop, &admission_room);
    const struct queue_place *place = map_find(&admission->queue.by_job, job);
    return place ? place->position : 0;
}

/* --- The room --------------------------------------------------------------------------------- */

static void admission_fini(void *state)
{
    struct admission *admission = state;
    round_end(&admission->queue);
    json_decref(admission->limits.file);
    json_decref(admission->month.budget);
    free(admission->lifts);
}

const struct room admission_room = {
    .state_size = sizeof(struct admission),
    .every_ms = BUDGET_EVERY_MS,
    .looks_at_once = true,
    .look = budget_look,
    .fini = admission_fini,
};
