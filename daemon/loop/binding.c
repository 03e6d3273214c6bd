/* The record belongs to one cluster and to one daemon. It belongs to the cluster that has its jobs:
 * a daemon that is started with the SLURM_CONF of another cluster would take these jobs for lost.
 * It belongs to the daemon that opened it last. */
#include "daemon/loop/loop_private.h"

#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>

/* --- The cluster ------------------------------------------------------------------------------ */

/* Whether a run of the workflow may need a job. A workflow that is being cancelled needs no job, so
 * that a person can give up the jobs of a cluster that is gone. */
static bool workflow_goes_on(const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        bool is_cancelled =
            phase->run && phase->run->state != RUN_ENDED && phase->run->wish == WISH_CANCEL;
        if (!phase->members && !phase_state_is_final(phase->state) && !is_cancelled)
            return true;
    }
    return false;
}

static bool has_live_jobs(const struct core *core)
{
    for (size_t i = 0; i < core_workflow_count(core); i++) {
        const struct workflow *workflow = core_workflow_at(core, i);
        for (size_t j = 0; j < workflow->allocation_count; j++)
            if (!workflow->allocations[j]->ended && workflow_goes_on(workflow))
                return true;
    }
    return false;
}

/* Notes which cluster has answered. An answer without a name may come from any cluster. */
static void binding_note(struct loop *loop, const char *name)
{
    if (!name[0] && loop->other[0])
        return;
    bool is_known = !name[0] || text_equal(name, loop->binding);
    if (is_known || !loop->binding[0] || !has_live_jobs(loop->core)) {
        if (!is_known) {
            if (loop->binding[0])
                log_line("this home uses cluster %s now, and not %s", name, loop->binding);
            (void)snprintf(loop->binding, sizeof loop->binding, "%s", name);
            loop->is_rebound = true;
        }
        loop->is_bound = true;
        loop->other[0] = '\0';
        return;
    }
    if (!loop->other[0])
        log_line("nothing is asked of cluster %s: the jobs of this home are in cluster %s", name,
                 loop->binding);
    loop->is_bound = false;
    (void)snprintf(loop->other, sizeof loop->other, "%s", name);
}

bool loop_is_bound(const struct loop *loop)
{
    return loop->is_bound;
}

void binding_check(struct loop *loop, struct cluster_result *result)
{
    if (result->outcome == CLUSTER_UNREACHABLE)
        return;
    if (result->kind == CLUSTER_POLL || result->kind == CLUSTER_LOOKUP)
        binding_note(loop, result->cluster);
    if (!loop->other[0])
        return;
    result->outcome = CLUSTER_UNREACHABLE;
    (void)snprintf(result->message, sizeof result->message,
                   "the jobs of this home are in cluster %.40s, and this Slurm is cluster %.40s: "
                   "stop the daemon, set SLURM_CONF and start it, or cancel the workflows",
                   loop->binding, loop->other);
}

/* --- The daemon ------------------------------------------------------------------------------- */

void loop_fence(struct loop *loop, const struct error *failure)
{
    if (loop->is_fenced)
        return;
    log_line("%s; this daemon stops", failure->message);
    loop->is_fenced = true;
    (void)uv_timer_stop(&loop->alarm);
    loop->config.fenced(loop->config.context);
}

bool loop_is_owner(struct loop *loop)
{
    struct error err;
    if (store_check_lease(loop->config.store, &err) == -ESTALE)
        loop_fence(loop, &err);
    return !loop->is_fenced;
}
