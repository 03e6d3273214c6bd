/* Asks Slurm to submit, look up, cancel and begin jobs. */
#include "daemon/launch/launch.h"

#include "daemon/admission/admission.h"
#include "daemon/launch/launch_private.h"
#include "daemon/loop/loop.h"
#include "daemon/slurm/cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
    BEGIN_DELAY_S = 2 /* with less, Slurm revokes the credentials of some jobs, and the jobs fail */
};

static void post_job(struct loop *loop, enum core_event_kind kind, const struct core_effect *effect,
                     const struct error *err)
{
    struct core_event event = {.kind = kind,
                               .workflow = effect->workflow,
                               .allocation = effect->allocation,
                               .message = err->message};
    loop_post(loop, &event);
}

/* Returns the nodes that the order leaves out. The caller frees the text. A submission must not
 * fail because this cannot be read from the record. */
static char *excluded_nodes(struct launch *launch, const struct core_effect *effect)
{
    struct allocation *allocation = effect->allocation;
    char *nodes = NULL;
    struct error err;
    if (!map_find(&launch->anywhere, allocation->id) &&
        store_nodes_excluded(loop_store(launch->loop), loop_now_ms(), &nodes, &err) < 0)
        log_line("could not read which nodes are excluded: %s", err.message);
    if (nodes)
        map_put(&launch->excluding, allocation->id, allocation);
    else
        (void)map_remove(&launch->excluding, allocation->id);
    return nodes;
}

/* Writes the reason only when it changes, so that another look costs no transaction. */
static int wait_for_admission(struct loop *loop, const struct core_effect *effect,
                              const char *reason)
{
    int in_ms = admission_again_in_ms(loop);
    if (text_equal(reason, effect->allocation->reason))
        return CARRIED_LATER_MS + in_ms;
    struct core_event event = {.kind = EV_LIMITED,
                               .workflow = effect->workflow,
                               .allocation = effect->allocation,
                               .retry_ms = loop_carry_ms(loop) + in_ms,
                               .message = reason};
    loop_post(loop, &event);
    return CARRIED_OUT;
}

static int order(struct launch *launch, const struct core_effect *effect,
                 const struct folder *folder, const struct store_launch *stored, struct error *err)
{
    struct cluster *cluster = loop_cluster(launch->loop);
    char *excluded = excluded_nodes(launch, effect);
    struct job_order order;
    job_order_init(&order, effect->run, effect->allocation, folder, stored,
                   loop_config(launch->loop)->worker, excluded);
    free(excluded);
    enum core_event_kind failure = EV_LIMITED;
    int status = folder_make_job(folder, order.description.script, err);
    if (status == 0) {
        failure = EV_REFUSED;
        status = cluster_submit(cluster, core_effect_target(effect), &order.description, err);
        assert(status != -EAGAIN); /* cluster_can_take() was true */
    }
    job_order_fini(&order);
    if (status == 0)
        return CARRIED_REQUEST;
    post_job(launch->loop, failure, effect, err);
    return CARRIED_OUT;
}

static int carry_submit(void *state, const struct core_effect *effect)
{
    struct launch *launch = state;
    struct loop *loop = launch->loop;
    const struct run *run = effect->run;
    const struct allocation *allocation = effect->allocation;
    struct store_launch stored;
    struct folder folder;
    struct error err;
    char reason[REASON_MAX];
    if (!core_allocation_is_needed(allocation)) {
        (void)error_set(&err, -ECANCELED, "not submitted: no run needs the job any more");
        post_job(loop, EV_LIMITED, effect, &err); /* no job exists, and no run needs one */
        return CARRIED_OUT;
    }
    if (!admission_asks(loop, effect->workflow, allocation, reason))
        return wait_for_admission(loop, effect, reason);
    if (!loop_is_bound(loop))
        return CARRIED_LATER_MS + UNBOUND_RETRY_MS;
    if (search_again(loop, run))
        return CARRIED_LATER_MS + FOLDER_RETRY_MS;
    folder_init_job(&folder, loop_config(loop)->home, run, allocation);
    bool is_begun; /* perhaps in another candidate for its seat */
    int carried = CARRIED_OUT;
    if (prepare(launch, run, &folder, &stored, &is_begun, &err) < 0) {
        post_job(loop, EV_LIMITED, effect, &err); /* no job exists; the core tries again later */
    } else {
        carried = order(launch, effect, &folder, &stored, &err);
        store_launch_fini(&stored);
    }
    folder_fini(&folder);
    return carried;
}

static int carry_lookup(void *state, const struct core_effect *effect)
{
    struct loop *loop = ((struct launch *)state)->loop;
    struct error err;
    if (!loop_is_bound(loop))
        return CARRIED_LATER_MS + UNBOUND_RETRY_MS;
    if (cluster_lookup(loop_cluster(loop), core_effect_target(effect), effect->allocation->token,
                       &err) == 0)
        return CARRIED_REQUEST;
    post_job(loop, EV_UNSURE, effect, &err);
    return CARRIED_OUT;
}

/* Cancels the job, or makes it begin soon. */
static int carry_change(void *state, const struct core_effect *effect)
{
    struct launch *launch = state;
    struct loop *loop = launch->loop;
    struct error err;
    const struct allocation *allocation = effect->allocation;
    enum cluster_kind kind = effect->kind == FX_BEGIN_JOB ? CLUSTER_BEGIN : CLUSTER_CANCEL;
    if (allocation->slurm_id == 0)
        return CARRIED_OUT; /* no job is known yet; the core repeats a cancellation later */
    if (!loop_is_bound(loop))
        return CARRIED_LATER_MS + UNBOUND_RETRY_MS;
    if (cluster_change(loop_cluster(loop), core_effect_target(effect), kind, allocation->slurm_id,
                       allocation->token, loop_now_ms() / 1000 + BEGIN_DELAY_S, &err) < 0) {
        log_line("could not %s job %u: %s", cluster_kind_name(kind), allocation->slurm_id,
                 err.message);
        return CARRIED_LATER_MS + CHANGE_RETRY_MS;
    }
    if (kind == CLUSTER_BEGIN && launch->is_polling)
        map_put(&launch->begun, allocation->id, effect->allocation);
    return CARRIED_REQUEST;
}

/* --- The room --------------------------------------------------------------------------------- */

static void launch_fini(void *state)
{
    struct launch *launch = state;
    json_decref(launch->failures);
    map_fini(&launch->excluding);
    map_fini(&launch->anywhere);
    map_fini(&launch->begun);
    free(launch->starts);
}

const struct room launch_room = {
    .state_size = sizeof(struct launch),
    .write = secret_write,
    .carry = {[FX_SUBMIT] = carry_submit,
              [FX_LOOKUP] = carry_lookup,
              [FX_CANCEL_JOB] = carry_change,
              [FX_BEGIN_JOB] = carry_change},
    .answer = {[CLUSTER_POLL] = poll_answer,
               [CLUSTER_SUBMIT] = submit_answer,
               [CLUSTER_LOOKUP] = lookup_answer,
               [CLUSTER_CANCEL] = change_answer,
               [CLUSTER_BEGIN] = change_answer},
    .every_ms = POLL_BUSY_MS,
    .looks_at_once = true,
    .look = poll_look,
    .turned = poll_turned,
    .fini = launch_fini,
};
