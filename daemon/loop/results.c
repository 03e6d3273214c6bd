/* The cluster's answers, turned into events; and when to poll. */
#include "daemon/loop/inside.h"

#include "daemon/slurm/cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void loop_note_answer(struct loop *loop, const struct cluster_result *result)
{
    struct loop_cluster_status *status = &loop->poller.status;
    bool is_answering = result->outcome != CLUSTER_UNREACHABLE;
    if (result->cluster[0])
        (void)snprintf(status->name, sizeof status->name, "%s", result->cluster);
    if (is_answering != status->is_answering)
        log_line("Slurm %s%s%s", is_answering ? "answers" : "does not answer",
                 is_answering ? "" : ": ", is_answering ? "" : result->message);
    status->is_answering = is_answering;
    (void)snprintf(status->message, sizeof status->message, "%s",
                   is_answering ? "" : result->message);
}

/* --- Jobs as Slurm has them ------------------------------------------------------------------- */

static unsigned limit_s(const struct cluster_job *seen)
{
    uint32_t minutes = seen->time_limit_minutes;
    return minutes < UINT32_MAX / 60 ? 60 * minutes : 0;
}

static void post_seen(struct loop *loop, struct workflow *workflow, struct allocation *job,
                      const struct cluster_job *seen)
{
    int64_t now = loop_now_ms() / 1000;
    bool has_started = seen->state != CLUSTER_JOB_PENDING && seen->start_time > 0;
    struct core_event event = {
        .kind = EV_JOB_SEEN,
        .workflow = workflow,
        .allocation = job,
        .slurm_id = seen->id,
        .seen = {.state = cluster_job_state_name(seen->state),
                 .reason = seen->reason,
                 .nodes = seen->nodes,
                 .is_final = cluster_job_is_final(seen),
                 .is_running = seen->state == CLUSTER_JOB_RUNNING,
                 .is_waiting = cluster_job_is_waiting(seen, now),
                 .is_stuck = cluster_job_is_stuck(seen),
                 .restarts = seen->restarts,
                 .limit_s = limit_s(seen),
                 .started_ms = has_started ? seen->start_time * 1000 : 0,
                 .ended_ms = cluster_job_is_final(seen) ? seen->end_time * 1000 : 0},
    };
    loop_post(loop, &event);
}

/* Whether Slurm lets a requeued job wait, which the core wants to end. */
static bool is_put_off(const struct cluster_job *seen)
{
    return seen->restarts > 0 && cluster_job_is_waiting(seen, loop_now_ms() / 1000);
}

/* Most jobs of most polls are as they were: they need no event. */
static bool is_news(const struct allocation *job, const struct cluster_job *seen)
{
    return job->absent_since_ms || cluster_job_is_final(seen) || cluster_job_is_stuck(seen) ||
           is_put_off(seen) || job->restarts != seen->restarts ||
           (limit_s(seen) && limit_s(seen) != job->time_s) ||
           !text_equal(job->state, cluster_job_state_name(seen->state)) ||
           !text_equal(job->reason, seen->reason) || !text_equal(job->nodes, seen->nodes);
}

static void post_absent(struct loop *loop, struct workflow *workflow, struct allocation *job)
{
    struct core_event event = {.kind = EV_JOB_ABSENT, .workflow = workflow, .allocation = job};
    loop_post(loop, &event);
}

/* Calls `each` for every job that Slurm should know, or should not; what shares one goes its way.
 */
static void live_jobs(struct loop *loop,
                      void (*each)(struct loop *loop, struct workflow *workflow,
                                   struct allocation *job, void *arg),
                      void *arg)
{
    for (size_t i = 0; i < core_workflow_count(loop->core); i++) {
        struct workflow *workflow = core_workflow_at(loop->core, i);
        for (size_t j = 0; j < workflow->allocation_count; j++) {
            struct allocation *job = workflow->allocations[j];
            bool is_back = job->ended && outbox_find(&loop->outbox, FX_CANCEL_JOB, job->id);
            if (job->slurm_id && (!job->ended || is_back))
                each(loop, workflow, job, arg);
        }
    }
}

static void still_absent(struct loop *loop, struct workflow *workflow, struct allocation *job,
                         void *arg)
{
    (void)arg;
    if (job->absent_since_ms && !job->ended)
        post_absent(loop, workflow, job);
}

static void absent_unless_seen(struct loop *loop, struct workflow *workflow, struct allocation *job,
                               void *arg)
{
    const struct map *seen = arg;
    if (!map_find(seen, job->id))
        post_absent(loop, workflow, job);
}

/* The job with this token, whose workflow may have ended long ago. Jobs of this user that carry
 * tokens which nobody here knows are another daemon's. */
static struct allocation *find_job(struct loop *loop, const struct cluster_job *seen,
                                   struct workflow **ret_workflow)
{
    struct allocation *job = loop_job_by_token(loop, seen->token, ret_workflow);
    uint64_t workflow;
    if (job || cluster_job_is_final(seen) || seen->completing ||
        store_find_token(loop->config.store, seen->token, &workflow, NULL) < 0 ||
        loop_workflow(loop, workflow, ret_workflow, NULL) < 0)
        return job;
    return loop_job_by_token(loop, seen->token, ret_workflow);
}

static void take_seen(struct loop *loop, struct workflow *workflow, struct allocation *job,
                      const struct cluster_job *seen)
{
    bool is_final = cluster_job_is_final(seen);
    bool is_back = job->ended && !is_final && !seen->completing;
    bool is_gone = job->ended && is_final && job->slurm_id == seen->id &&
                   outbox_find(&loop->outbox, FX_CANCEL_JOB, job->id);
    if (is_back || is_gone || (!job->ended && is_news(job, seen)))
        post_seen(loop, workflow, job, seen);
}

static void take_poll(struct loop *loop, const struct cluster_result *result)
{
    loop->poller.under_way = false;
    loop->poller.ended_ms = loop_now_ms();
    if (result->outcome == CLUSTER_UNCHANGED) {
        live_jobs(loop, still_absent, NULL);
        return;
    }
    if (result->outcome != CLUSTER_DONE)
        return;
    struct map seen = {0};
    loop->poller.has_put_off = false;
    for (size_t i = 0; i < result->job_count; i++) {
        struct workflow *workflow;
        struct allocation *job = find_job(loop, &result->jobs[i], &workflow);
        /* Two may have one token, after an answer that was lost: the claim on the folder decides.
         */
        if (!job || (job->slurm_id != result->jobs[i].id && !job->ended))
            continue;
        map_put(&seen, job->id, job);
        if (is_put_off(&result->jobs[i]))
            loop->poller.has_put_off = true;
        take_seen(loop, workflow, job, &result->jobs[i]);
    }
    live_jobs(loop, absent_unless_seen, &seen);
    map_fini(&seen);
}

/* --- Requests --------------------------------------------------------------------------------- */

static void post_answer(struct loop *loop, const struct duty *duty, enum core_event_kind kind,
                        const struct cluster_result *result)
{
    char message[sizeof result->message];
    bool is_away = result->outcome == CLUSTER_UNREACHABLE; /* its words alone tell nobody that */
    (void)snprintf(message, sizeof message, "%s%.220s", is_away ? "Slurm does not answer: " : "",
                   result->message);
    struct core_event event = {.kind = kind,
                               .workflow = duty->effect.workflow,
                               .allocation = duty->effect.allocation,
                               .slurm_id = result->job_id,
                               .message = message};
    loop_post(loop, &event);
}

static enum core_event_kind answer_kind(const struct cluster_result *result)
{
    switch (result->outcome) {
    case CLUSTER_DONE:
        return EV_SUBMITTED;
    case CLUSTER_LIMITED:
        return EV_LIMITED;
    case CLUSTER_ABSENT:
        return EV_UNKNOWN;
    case CLUSTER_REFUSED:
        /* A look-up that was refused says nothing about the job. */
        return result->kind == CLUSTER_SUBMIT ? EV_REFUSED : EV_UNSURE;
    default:
        return EV_UNSURE;
    }
}

static void take_submit(struct loop *loop, struct duty *duty, const struct cluster_result *result)
{
    if (result->has_dropped)
        loop_warn(loop, duty->effect.run, "%s", result->message);
    post_answer(loop, duty, answer_kind(result), result);
    if (result->kind == CLUSTER_LOOKUP && result->outcome == CLUSTER_DONE && result->job_count == 1)
        post_seen(loop, duty->effect.workflow, duty->effect.allocation, &result->jobs[0]);
}

/* Slurm has refused an order that leaves nodes out. It may be that too few are left, or that one is
 * no node any more: Slurm's reasons differ, and no exclusion is worth a phase that never runs. The
 * same order goes once more, without them. */
static void submit_anywhere(struct loop *loop, struct duty *duty,
                            const struct cluster_result *result)
{
    const struct run *run = duty->effect.run;
    loop_warn(loop, run,
              "submitted again without leaving out the excluded nodes: refused by Slurm: %s",
              result->message);
    duty->takes_any = true;
    if (outbox_end(&loop->outbox, duty) && duty->state == DUTY_STANDING)
        outbox_retry(&loop->outbox, duty, 0);
}

static enum core_effect_kind effect_kind(enum cluster_kind kind)
{
    switch (kind) {
    case CLUSTER_SUBMIT:
        return FX_SUBMIT;
    case CLUSTER_LOOKUP:
        return FX_LOOKUP;
    case CLUSTER_BEGIN:
        return FX_BEGIN_JOB;
    default:
        assert(kind == CLUSTER_CANCEL);
        return FX_CANCEL_JOB;
    }
}

static void take_answer(struct loop *loop, const struct cluster_result *result)
{
    enum core_effect_kind kind = effect_kind(result->kind);
    struct duty *duty = outbox_find(&loop->outbox, kind, result->key);
    assert(duty && duty->state == DUTY_UNDER_WAY);
    if (kind == FX_SUBMIT && result->outcome == CLUSTER_REFUSED && duty->excludes) {
        submit_anywhere(loop, duty, result);
        return;
    }
    if (kind == FX_SUBMIT && result->outcome == CLUSTER_REFUSED &&
        allocation_is_candidate(duty->effect.allocation))
        loop_warn(loop, duty->effect.run, "no job for GPUs of type %s: refused by Slurm: %s",
                  duty->effect.allocation->gpu_type, result->message);
    bool is_change = kind == FX_CANCEL_JOB || kind == FX_BEGIN_JOB;
    if (!is_change)
        take_submit(loop, duty, result);
    else if (result->outcome == CLUSTER_REFUSED)
        log_line("Slurm refused to %s job %u: %s", cluster_kind_name(result->kind),
                 duty->effect.allocation->slurm_id, result->message);
    bool stays = outbox_end(&loop->outbox, duty);
    /* That a job to cancel is absent may be a controller's error: polls tell when it is gone. */
    bool is_open = result->outcome == CLUSTER_UNREACHABLE || result->outcome == CLUSTER_REFUSED ||
                   (result->outcome == CLUSTER_ABSENT && kind == FX_CANCEL_JOB);
    if (stays && is_change && is_open && duty->state == DUTY_STANDING)
        outbox_retry(&loop->outbox, duty, loop_now_ms() + CHANGE_RETRY_MS);
}

void results_take(struct loop *loop)
{
    struct cluster_result result;
    while (cluster_take(loop->cluster, &result)) {
        loop_note_answer(loop, &result);
        if (rooms_answer(loop, &result))
            ;
        else if (result.kind == CLUSTER_POLL)
            take_poll(loop, &result);
        else
            take_answer(loop, &result);
        cluster_result_fini(&result);
    }
}

int64_t results_poll(struct loop *loop, int64_t now_ms)
{
    struct poller *poller = &loop->poller;
    struct error err;
    if (poller->under_way)
        return INT64_MAX;
    int64_t busy_due_ms = poller->ended_ms + POLL_BUSY_MS;
    int64_t idle_due_ms = poller->ended_ms + POLL_IDLE_MS;
    if (poller->ended_ms && busy_due_ms > now_ms)
        return busy_due_ms; /* whether it is busy is asked then: it costs a look at all runs */
    if (poller->ended_ms && idle_due_ms > now_ms && !poller->has_put_off &&
        !core_is_busy(loop->core, now_ms))
        return idle_due_ms;
    if (!loop_is_owner(loop))
        return INT64_MAX;
    if (cluster_poll(loop->cluster, 0, &err) < 0) { /* no room */
        poller->ended_ms = now_ms;
        return now_ms + POLL_BUSY_MS;
    }
    poller->under_way = true;
    return INT64_MAX;
}
