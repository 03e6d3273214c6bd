/* Deciding whether a job may be submitted. */
#include "daemon/loop/queue.h"

#include "daemon/loop/budget.h"
#include "daemon/loop/inside.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/spec/queue_limits.h"
#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A workflow as a round sees it. */
struct queue_line {
    unsigned has; /* runs with jobs in Slurm */
    bool is_asked, is_paid_for;
    enum turn_wait wait;
    char reason[REASON_MAX];
};

static void round_end(struct queue *queue)
{
    map_fini(&queue->by_workflow);
    free(queue->lines);
    queue->by_workflow = (struct map){0};
    queue->lines = NULL;
}

void queue_fini(struct queue *queue)
{
    round_end(queue);
    json_decref(queue->limits);
}

/* --- limits.yaml ------------------------------------------------------------------------------ */

const json_t *queue_limits(struct loop *loop)
{
    struct queue *queue = &loop->queued;
    const char *path = loop->config.home->limits;
    struct stat now;
    if (stat(path, &now) < 0)
        now = (struct stat){0};
    if ((queue->limits || queue->problem[0]) && file_is_same(&queue->seen, &now))
        return queue->limits;
    struct spec_problems problems = {0};
    struct text lines = {0};
    json_decref(queue->limits);
    queue->limits = queue_limits_load(path, &problems);
    queue->seen = now;
    spec_problems_text(&problems, &lines);
    (void)snprintf(queue->problem, sizeof queue->problem, "%.*s",
                   (int)strcspn(text_string(&lines), "\n"), text_string(&lines));
    if (lines.size)
        log_line("%s", queue->problem);
    text_fini(&lines);
    spec_problems_fini(&problems);
    return queue->limits;
}

/* --- What is in Slurm ------------------------------------------------------------------------- */

/* Whether Slurm has the job, or may have it. */
static bool is_in_slurm(const struct loop *loop, const struct allocation *job)
{
    const struct duty *submit;
    if (job->ended)
        return false;
    if (job->slurm_id || outbox_find(&loop->outbox, FX_LOOKUP, job->id))
        return true;
    submit = outbox_find(&loop->outbox, FX_SUBMIT, job->id);
    return submit && submit->state != DUTY_WAITING;
}

static unsigned gpus_of(const struct allocation *job)
{
    return job->node_count * job->gpus_per_node;
}

/* Adds what the workflow has there. Candidates for a seat, which were made in a row, are one run;
 * their seats are put into `runs`. */
static void count_workflow(const struct loop *loop, const struct workflow *workflow,
                           struct turn_limits *used, struct map *runs)
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
    time_t now = time(NULL);
    struct tm tm;
    (void)localtime_r(&now, &tm);
    if (queue_is_open(workflow->window_from, workflow->window_to,
                      (unsigned)(tm.tm_hour * 60 + tm.tm_min)))
        return true;
    (void)snprintf(reason, REASON_MAX, "its window opens at %02u:%02u", workflow->window_from / 60,
                   workflow->window_from % 60);
    return false;
}

/* A failed one may be retried yet. */
static bool is_after(struct loop *loop, struct workflow *workflow, char reason[REASON_MAX])
{
    char state[24];
    struct error err;
    const struct workflow *before = core_workflow(loop->core, workflow->after);
    if (!workflow->after)
        return true;
    if (before)
        (void)snprintf(state, sizeof state, "%s", workflow_state(before));
    else if (store_workflow_state(loop->config.store, workflow->after, state, &err) < 0)
        (void)snprintf(state, sizeof state, "not to be found");
    unsigned long long id = workflow->after;
    if (text_equal(state, "succeeded"))
        return true;
    bool is_over = text_equal(state, "failed") || text_equal(state, "cancelled");
    (void)snprintf(reason, REASON_MAX, "workflow %llu, which it comes after, is %s%s", id, state,
                   is_over ? ": retry that, or cancel this one" : "");
    return false;
}

/* But for the money, which is asked for last: that costs a look at the record. */
static enum turn_wait wait_of(struct loop *loop, struct workflow *workflow, char reason[REASON_MAX])
{
    if (!is_after(loop, workflow, reason))
        return TURN_AFTER;
    return is_in_window(workflow, reason) ? TURN_GOES : TURN_WINDOW;
}

/* --- A round ---------------------------------------------------------------------------------- */

/* All that wait for a turn are looked at together: one by one, each would have to be compared with
 * all of the others. */

struct round {
    struct loop *loop;
    struct turn *turns;
    size_t count;
    struct map runs; /* seats with candidates in Slurm */
};

static struct queue_line *line_of(const struct queue *queue, const struct workflow *workflow)
{
    return map_find(&queue->by_workflow, workflow->id);
}

static struct turn_limits round_count(struct loop *loop, struct map *runs)
{
    struct queue *queue = &loop->queued;
    struct turn_limits used = {0};
    size_t count = core_workflow_count(loop->core);
    queue->lines = xcalloc(count + 1, sizeof *queue->lines);
    for (size_t i = 0; i < count; i++) {
        const struct workflow *workflow = core_workflow_at(loop->core, i);
        unsigned before = used.running;
        count_workflow(loop, workflow, &used, runs);
        queue->lines[i].has = used.running - before;
        map_put(&queue->by_workflow, workflow->id, &queue->lines[i]);
    }
    return used;
}

/* Not what waits for Slurm, or out a pause after a failure. */
static bool is_in_round(const struct queue *queue, const struct duty *duty)
{
    return duty->effect.kind == FX_SUBMIT &&
           (duty->due_ms <= queue->now_ms || duty->wait != TURN_GOES) &&
           !core_allocation_is_vain(duty->effect.workflow, duty->effect.allocation);
}

static void round_add(struct round *round, struct duty *duty)
{
    struct queue *queue = &round->loop->queued;
    struct workflow *workflow = duty->effect.workflow;
    struct queue_line *line = line_of(queue, workflow);
    const struct allocation *job = duty->effect.allocation;
    if (!line->is_asked)
        line->wait = wait_of(round->loop, workflow, line->reason);
    line->is_asked = true;
    duty->wait = line->wait;
    duty->round = queue->round;
    if (line->wait != TURN_GOES)
        return;
    round->turns[round->count++] = (struct turn){
        .workflow = workflow->id,
        .job = job->id,
        .run = job->seat->id,
        .priority = workflow->priority,
        .has = line->has,
        .gpus = gpus_of(job),
        .is_candidate = map_find(&round->runs, job->seat->id),
        .owner = duty,
    };
}

static bool round_may(void *arg, struct turn *turn)
{
    struct loop *loop = arg;
    const struct duty *duty = turn->owner;
    struct queue_line *line = line_of(&loop->queued, duty->effect.workflow);
    if (!line->is_paid_for && line->wait == TURN_GOES) {
        line->is_paid_for = budget_allows(loop, duty->effect.workflow, line->reason);
        line->wait = line->is_paid_for ? TURN_GOES : TURN_BUDGET;
    }
    turn->wait = line->wait;
    return line->is_paid_for;
}

static void round_hold(struct loop *loop)
{
    struct queue *queue = &loop->queued;
    struct round round = {.loop = loop};
    size_t most = 0;
    round_end(queue);
    queue->round++;
    struct turn_limits used = round_count(loop, &round.runs);
    for (struct duty *duty = loop->outbox.first[OUTBOX_CLUSTER]; duty; duty = duty->next)
        most += is_in_round(queue, duty);
    round.turns = xcalloc(most + 1, sizeof *round.turns);
    for (struct duty *duty = loop->outbox.first[OUTBOX_CLUSTER]; duty; duty = duty->next)
        if (is_in_round(queue, duty))
            round_add(&round, duty);
    turns_decide(round.turns, round.count, &queue->bounds, &used, round_may, loop);
    for (size_t i = 0; i < round.count; i++) {
        struct duty *duty = round.turns[i].owner;
        duty->wait = round.turns[i].wait;
    }
    free(round.turns);
    map_fini(&round.runs);
}

/* --- The answer ------------------------------------------------------------------------------- */

/* What limits.yaml lets a job wait for. The same for as long as it is true, since every change of
 * it is written to the record. */
static void say_bound(const struct turn_limits *bounds, enum turn_wait wait, unsigned gpus,
                      char reason[REASON_MAX])
{
    switch (wait) {
    case TURN_NEVER:
        (void)snprintf(reason, REASON_MAX, "it asks for %u GPUs; limits.yaml allows %u", gpus,
                       bounds->gpus);
        break;
    case TURN_JOBS:
        (void)snprintf(reason, REASON_MAX, "limits.yaml allows %u job%s in Slurm at a time",
                       bounds->jobs, bounds->jobs == 1 ? "" : "s");
        break;
    case TURN_RUNNING:
        (void)snprintf(
            reason, REASON_MAX,
            "limits.yaml allows %u running job%s at a time, and as many run or may start",
            bounds->running, bounds->running == 1 ? "" : "s");
        break;
    case TURN_GPUS:
        (void)snprintf(reason, REASON_MAX, "it needs %u of the %u GPUs that limits.yaml allows",
                       gpus, bounds->gpus);
        break;
    case TURN_BEHIND:
        (void)snprintf(reason, REASON_MAX, "other jobs that wait for limits.yaml come first");
        break;
    case TURN_AFTER:
    case TURN_WINDOW:
    case TURN_BUDGET:
    case TURN_FILE:
    case TURN_GOES:
        assert(false && "no bound");
    }
}

static unsigned limit_of(const json_t *file, const char *key)
{
    return (unsigned)json_integer_value(json_object_get(file, key));
}

static struct turn_limits bounds_of(const json_t *file)
{
    return (struct turn_limits){.jobs = limit_of(file, "jobs"),
                                .running = limit_of(file, "running_jobs"),
                                .gpus = limit_of(file, "gpus")};
}

static bool has_bounds(const struct turn_limits *bounds)
{
    return bounds->jobs || bounds->running || bounds->gpus;
}

/* Whether anybody waits for room already. */
static bool is_full(const struct loop *loop)
{
    const struct duty *duty = loop->outbox.first[OUTBOX_CLUSTER];
    while (duty && duty->wait < TURN_JOBS)
        duty = duty->next;
    return duty != NULL;
}

enum turn_wait queue_forecast(struct loop *loop, unsigned gpus, char ret_reason[REASON_MAX])
{
    const json_t *file = queue_limits(loop);
    const struct turn_limits bounds = bounds_of(file);
    struct turn_limits used = {0};
    struct map runs = {0};
    if (!file) {
        (void)snprintf(ret_reason, REASON_MAX, "%s", loop->queued.problem);
        return TURN_FILE;
    }
    for (size_t i = 0; i < core_workflow_count(loop->core); i++)
        count_workflow(loop, core_workflow_at(loop->core, i), &used, &runs);
    map_fini(&runs);
    enum turn_wait wait = turns_ask(gpus, &bounds, &used);
    if (wait == TURN_GOES && has_bounds(&bounds) && is_full(loop))
        wait = TURN_BEHIND;
    if (wait != TURN_GOES)
        say_bound(&bounds, wait, gpus, ret_reason);
    return wait;
}

void queue_look(struct loop *loop, int64_t now_ms)
{
    loop->queued.now_ms = now_ms;
    loop->queued.is_looking = false;
}

/* The file is the same to all that are carried out together. */
static void look(struct loop *loop)
{
    struct queue *queue = &loop->queued;
    const json_t *file = queue_limits(loop);
    queue->is_looking = true;
    queue->bounds = bounds_of(file);
    queue->has_file = file != NULL;
    queue->round++; /* what was decided before is of the past */
}

int64_t queue_look_again_ms(const struct loop *loop)
{
    return (loop->queued.now_ms / QUEUE_LOOK_AGAIN_MS + 1) * QUEUE_LOOK_AGAIN_MS;
}

bool queue_may_submit(struct loop *loop, struct duty *duty, char ret_reason[REASON_MAX])
{
    struct queue *queue = &loop->queued;
    struct workflow *workflow = duty->effect.workflow;
    const struct turn_limits *bounds = &queue->bounds;
    if (!queue->is_looking)
        look(loop);
    if (!queue->has_file) {
        duty->wait = TURN_FILE;
        (void)snprintf(ret_reason, REASON_MAX, "%s", queue->problem);
    } else if (!has_bounds(bounds)) {
        duty->wait = wait_of(loop, workflow, ret_reason);
        if (duty->wait == TURN_GOES && !budget_allows(loop, workflow, ret_reason))
            duty->wait = TURN_BUDGET;
    } else {
        if (duty->round != queue->round)
            round_hold(loop);
        if (duty->wait == TURN_AFTER || duty->wait == TURN_WINDOW || duty->wait == TURN_BUDGET)
            (void)snprintf(ret_reason, REASON_MAX, "%s", line_of(queue, workflow)->reason);
        else if (duty->wait != TURN_GOES)
            say_bound(bounds, duty->wait, gpus_of(duty->effect.allocation), ret_reason);
    }
    return duty->wait == TURN_GOES;
}
