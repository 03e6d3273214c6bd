/* The cluster's answers, turned into events; and when to poll. */
#include "daemon/launch/launch_private.h"
#include "daemon/loop/loop.h"
#include "daemon/slurm/cluster.h"
#include "daemon/store/store.h"
#include "lib/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    POLL_IDLE_MS = 30000,
};

/* --- Jobs as Slurm has them ------------------------------------------------------------------- */

static unsigned limit_s(const struct cluster_job *seen)
{
    uint32_t minutes = seen->time_limit_minutes;
    return minutes < UINT32_MAX / 60 ? 60 * minutes : 0;
}

static struct core_event seen_event(struct allocation *allocation, const struct cluster_job *seen)
{
    int64_t now_ms = loop_now_ms();
    bool has_started = seen->state != CLUSTER_JOB_PENDING && seen->start_time > 0;
    return (struct core_event){
        .kind = EV_JOB_SEEN,
        .now_ms = now_ms,
        .workflow = allocation->workflow,
        .allocation = allocation,
        .slurm_id = seen->id,
        .seen = {.state = seen->state,
                 .reason = seen->reason,
                 .nodes = seen->nodes,
                 .is_final = cluster_job_is_final(seen),
                 .is_completing = seen->completing,
                 .is_waiting = cluster_job_is_waiting(seen, now_ms / 1000),
                 .is_stuck = cluster_job_is_stuck(seen),
                 .restarts = seen->restarts,
                 .limit_s = limit_s(seen),
                 .started_ms = has_started ? seen->start_time * 1000 : 0,
                 .ended_ms = cluster_job_is_final(seen) ? seen->end_time * 1000 : 0},
    };
}

/* Tells the core of the jobs that the poll has not seen. */
static void post_absent(struct loop *loop, const struct map *seen)
{
    const struct core *core = loop_core(loop);
    for (size_t i = 0; i < core_workflow_count(core); i++) {
        struct workflow *workflow = core_workflow_at(core, i);
        for (size_t j = 0; j < workflow->allocation_count; j++) {
            struct allocation *allocation = workflow->allocations[j];
            struct core_event event = {
                .kind = EV_JOB_ABSENT, .workflow = workflow, .allocation = allocation};
            if (core_job_is_missed(allocation) && !map_find(seen, allocation->id))
                loop_post(loop, &event);
        }
    }
}

/* Finds the job with this token. Its workflow may have ended long ago. A job of this user with an
 * unknown token belongs to another daemon. */
static struct allocation *find_job(struct loop *loop, const struct cluster_job *seen)
{
    struct allocation *allocation = loop_allocation_by_token(loop, seen->token);
    struct workflow *workflow;
    uint64_t id;
    if (allocation || cluster_job_is_final(seen) || seen->completing ||
        store_find_token(loop_store(loop), seen->token, &id, NULL) < 0 ||
        loop_workflow(loop, id, &workflow, NULL) < 0)
        return allocation;
    return loop_allocation_by_token(loop, seen->token);
}

/* --- Polls ------------------------------------------------------------------------------------ */

static int by_id(const void *a, const void *b)
{
    uint32_t left = ((const struct expected_start *)a)->slurm_id;
    uint32_t right = ((const struct expected_start *)b)->slurm_id;
    return (left > right) - (left < right);
}

/* Slurm's estimates change with every turn of its scheduler. No decision depends on them, so they
 * are not recorded. */
static void take_starts(struct launch *launch, const struct cluster_result *result)
{
    launch->starts = xreallocarray(launch->starts, result->job_count + 1, sizeof *launch->starts);
    launch->start_count = 0;
    for (size_t i = 0; i < result->job_count; i++) {
        const struct cluster_job *job = &result->jobs[i];
        if (job->state == CLUSTER_JOB_PENDING && job->start_time > 0)
            launch->starts[launch->start_count++] =
                (struct expected_start){.slurm_id = job->id, .time_s = job->start_time};
    }
    qsort(launch->starts, launch->start_count, sizeof *launch->starts, by_id);
}

int64_t launch_expected_start(struct loop *loop, uint32_t slurm_id)
{
    const struct launch *launch = loop_room(loop, &launch_room);
    struct expected_start wanted = {.slurm_id = slurm_id};
    const struct expected_start *found =
        launch->start_count
            ? bsearch(&wanted, launch->starts, launch->start_count, sizeof *launch->starts, by_id)
            : NULL;
    return found ? found->time_s : 0;
}

static void take_jobs(struct launch *launch, const struct cluster_result *result)
{
    struct loop *loop = launch->loop;
    struct map seen = {0};
    launch->has_put_off = false;
    take_starts(launch, result);
    for (size_t i = 0; i < result->job_count; i++) {
        struct allocation *allocation = find_job(loop, &result->jobs[i]);
        /* After a lost answer two jobs may have the same token. The claim on the folder decides
         * which job serves. */
        if (!allocation || (allocation->slurm_id != result->jobs[i].id && !allocation->ended))
            continue;
        map_put(&seen, allocation->id, allocation);
        struct core_event event = seen_event(allocation, &result->jobs[i]);
        /* Slurm makes a requeued job wait. The core wants to end that wait. */
        if (event.seen.is_waiting && event.seen.restarts > 0)
            launch->has_put_off = true;
        if (map_find(&launch->begun, allocation->id))
            continue; /* Slurm answered before it was asked to begin the job: no news */
        if (core_job_is_news(&event))
            loop_post(loop, &event);
    }
    post_absent(loop, &seen);
    map_fini(&seen);
}

int poll_answer(void *state, const struct core_effect *effect, const struct cluster_result *result)
{
    (void)effect;
    struct launch *launch = state;
    launch->is_polling = false;
    uint64_t now_ms = uv_now(loop_config(launch->loop)->uv);
    launch->busy_due_ms = now_ms + POLL_BUSY_MS;
    launch->idle_due_ms = now_ms + POLL_IDLE_MS;
    loop_look(launch->loop, &launch_room, POLL_BUSY_MS);
    if (result->outcome == CLUSTER_DONE)
        take_jobs(launch, result);
    map_fini(&launch->begun);
    return CARRIED_OUT;
}

void poll_look(void *state)
{
    struct launch *launch = state;
    struct loop *loop = launch->loop;
    if (launch->is_polling)
        return;
    bool is_idle = !launch->has_put_off && !core_is_busy(loop_core(loop), loop_now_ms());
    if (is_idle && uv_now(loop_config(loop)->uv) < launch->idle_due_ms)
        return;
    launch->is_polling = cluster_poll(loop_cluster(loop), NULL) == 0; /* else there is no room */
}

void poll_turned(void *state)
{
    struct launch *launch = state;
    struct loop *loop = launch->loop;
    uint64_t now_ms = uv_now(loop_config(loop)->uv);
    /* core_is_busy() looks at all runs, so not every turn calls it. */
    if (launch->is_polling || now_ms < launch->busy_due_ms ||
        !core_is_busy(loop_core(loop), loop_now_ms()))
        return;
    launch->busy_due_ms = now_ms + POLL_BUSY_MS; /* also if poll_look() starts no poll */
    loop_look(loop, &launch_room, 0);
}

/* --- Requests --------------------------------------------------------------------------------- */

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

static void post_answer(struct loop *loop, const struct core_effect *effect,
                        const struct cluster_result *result)
{
    char message[sizeof result->message];
    bool is_away = result->outcome == CLUSTER_UNREACHABLE; /* the message may not say so */
    (void)snprintf(message, sizeof message, "%s%.220s", is_away ? "Slurm does not answer: " : "",
                   result->message);
    struct core_event event = {.kind = answer_kind(result),
                               .workflow = effect->workflow,
                               .allocation = effect->allocation,
                               .slurm_id = result->job_id,
                               .message = message};
    loop_post(loop, &event);
}

/* Slurm has refused an order that leaves nodes out. Too few nodes may be left, or an excluded node
 * may not exist any more. Slurm gives different reasons for this, so the reason is not looked at. A
 * phase must not wait forever because of an exclusion: the same order is sent once more without
 * excluded nodes. */
static int submit_anywhere(struct launch *launch, const struct core_effect *effect,
                           const struct cluster_result *result)
{
    loop_warn(launch->loop, effect->run,
              "Slurm refused the job while nodes were left out (%s): phased submits the job again, "
              "and no longer leaves these nodes out",
              result->message);
    map_put(&launch->anywhere, effect->allocation->id, effect->allocation);
    return CARRIED_LATER_MS;
}

int submit_answer(void *state, const struct core_effect *effect,
                  const struct cluster_result *result)
{
    struct launch *launch = state;
    bool is_refused = result->outcome == CLUSTER_REFUSED;
    if (map_remove(&launch->excluding, effect->allocation->id) && is_refused)
        return submit_anywhere(launch, effect, result);
    if (result->outcome == CLUSTER_DONE)
        (void)map_remove(&launch->anywhere, effect->allocation->id);
    if (is_refused && allocation_is_candidate(effect->allocation))
        loop_warn(launch->loop, effect->run,
                  "Slurm refused the job for GPUs of type %s: %s; this does not affect the jobs "
                  "for the other types",
                  effect->allocation->gpu_type, result->message);
    if (result->has_dropped)
        loop_warn(launch->loop, effect->run, "%s", result->message);
    post_answer(launch->loop, effect, result);
    return CARRIED_OUT;
}

int lookup_answer(void *state, const struct core_effect *effect,
                  const struct cluster_result *result)
{
    struct loop *loop = ((struct launch *)state)->loop;
    post_answer(loop, effect, result);
    if (result->outcome == CLUSTER_DONE && result->job_count == 1) {
        struct core_event event = seen_event(effect->allocation, &result->jobs[0]);
        loop_post(loop, &event);
    }
    return CARRIED_OUT;
}

/* A job to cancel is absent. That may be an error of the controller. Polls tell when the job is
 * gone. */
int change_answer(void *state, const struct core_effect *effect,
                  const struct cluster_result *result)
{
    bool is_refused = result->outcome == CLUSTER_REFUSED;
    (void)state;
    if (is_refused)
        log_line("Slurm refused to %s job %u: %s", cluster_kind_name(result->kind),
                 effect->allocation->slurm_id, result->message);
    bool is_open = is_refused || result->outcome == CLUSTER_UNREACHABLE ||
                   (result->outcome == CLUSTER_ABSENT && result->kind == CLUSTER_CANCEL);
    return is_open ? CARRIED_LATER_MS + CHANGE_RETRY_MS : CARRIED_OUT;
}
