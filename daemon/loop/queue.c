/* Deciding whether a job may be submitted. */
#include "daemon/loop/queue.h"

#include "daemon/loop/budget.h"
#include "daemon/loop/inside.h"
#include "daemon/loop/log.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/spec/queue_limits.h"
#include "lib/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void queue_fini(struct queue *queue)
{
    json_decref(queue->limits);
}

/* --- limits.yaml -------------------------------------------------------------------------------*/

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

/* --- What is in Slurm --------------------------------------------------------------------------*/

struct usage {
    unsigned jobs, gpus;
};

/* Whether Slurm has the job, or may have it. */
static bool is_in_slurm(const struct loop *loop, const struct job *job)
{
    const struct duty *submit;
    if (job->ended || job->host)
        return false;
    if (job->slurm_id || outbox_find(&loop->outbox, FX_LOOKUP, job->id))
        return true;
    submit = outbox_find(&loop->outbox, FX_SUBMIT, job->id);
    return submit && submit->state != DUTY_WAITING;
}

static void count_workflow(const struct loop *loop, const struct workflow *workflow,
                           struct usage *usage)
{
    for (size_t i = 0; i < workflow->job_count; i++) {
        const struct job *job = workflow->jobs[i];
        if (!is_in_slurm(loop, job))
            continue;
        usage->jobs++;
        usage->gpus += job->node_count * job->gpus_per_node;
    }
}

static struct usage count_all(const struct loop *loop)
{
    struct usage usage = {0};
    for (size_t i = 0; i < core_workflow_count(loop->core); i++)
        count_workflow(loop, core_workflow_at(loop->core, i), &usage);
    return usage;
}

/* --- Each condition ----------------------------------------------------------------------------*/

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
    (void)snprintf(reason, REASON_MAX, "workflow %llu, which it comes after, is %s", id, state);
    return false;
}

/* Whether `a` is submitted before `b`. */
static bool comes_first(const struct loop *loop, const struct duty *a, const struct duty *b)
{
    const struct workflow *of_a = a->effect.workflow, *of_b = b->effect.workflow;
    struct usage has_a = {0}, has_b = {0};
    if (of_a->priority != of_b->priority)
        return of_a->priority > of_b->priority;
    count_workflow(loop, of_a, &has_a);
    count_workflow(loop, of_b, &has_b);
    if (has_a.jobs != has_b.jobs)
        return has_a.jobs < has_b.jobs;
    return of_a->id != of_b->id ? of_a->id < of_b->id : a->effect.job->id < b->effect.job->id;
}

static unsigned gpus_of(const struct duty *duty)
{
    return duty->effect.job->node_count * duty->effect.job->gpus_per_node;
}

#define ROOM "limits.yaml allows "
#define TURN "other jobs that wait for limits.yaml come first"

/* Whether limits.yaml alone lets the job wait: its reason, which stands in the record, says so. */
static bool waits_for_room(const struct job *job)
{
    return text_starts(job->reason, ROOM) || text_equal(job->reason, TURN);
}

/* Those that can never be submitted stand in nobody's way. */
static bool has_turn(struct loop *loop, const struct duty *duty, unsigned gpus,
                     char reason[REASON_MAX])
{
    unsigned before = 0;
    char ignored[REASON_MAX];
    for (const struct duty *other = loop->outbox.first[OUTBOX_CLUSTER]; other; other = other->next)
        before += other != duty && other->effect.kind == FX_SUBMIT &&
                  waits_for_room(other->effect.job) && (!gpus || gpus_of(other) <= gpus) &&
                  comes_first(loop, other, duty) && is_in_window(other->effect.workflow, ignored) &&
                  is_after(loop, other->effect.workflow, ignored);
    if (before)
        (void)snprintf(reason, REASON_MAX, TURN);
    return before == 0;
}

static bool has_room(struct loop *loop, const struct duty *duty, const json_t *limits,
                     char reason[REASON_MAX])
{
    unsigned jobs = (unsigned)json_integer_value(json_object_get(limits, "jobs"));
    unsigned gpus = (unsigned)json_integer_value(json_object_get(limits, "gpus"));
    unsigned wanted = gpus_of(duty);
    if (!jobs && (!gpus || !wanted))
        return true;
    struct usage usage = count_all(loop);
    if (gpus && wanted > gpus)
        (void)snprintf(reason, REASON_MAX, "it asks for %u GPUs; limits.yaml allows %u", wanted,
                       gpus);
    else if (jobs && usage.jobs >= jobs)
        (void)snprintf(reason, REASON_MAX, ROOM "%u jobs in Slurm at a time", jobs);
    else if (gpus && usage.gpus + wanted > gpus)
        (void)snprintf(reason, REASON_MAX, ROOM "%u GPUs at a time; %u are taken", gpus,
                       usage.gpus);
    else
        return has_turn(loop, duty, gpus, reason);
    return false;
}

bool queue_may_submit(struct loop *loop, const struct duty *duty, char ret_reason[REASON_MAX])
{
    struct workflow *workflow = duty->effect.workflow;
    const json_t *limits = queue_limits(loop);
    if (!limits) {
        (void)snprintf(ret_reason, REASON_MAX, "%s", loop->queued.problem);
        return false;
    }
    return is_after(loop, workflow, ret_reason) && is_in_window(workflow, ret_reason) &&
           budget_allows(loop, workflow, ret_reason) && has_room(loop, duty, limits, ret_reason);
}
