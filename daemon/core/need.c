/* Who needs an allocation, and which answers of a poll are news. This file asks questions only and
 * changes nothing. */
#include "daemon/core/decision.h"

#include <string.h>

/* --- Who wants an allocation ------------------------------------------------------------------ */

int64_t run_patience(const struct run *run)
{
    return run->told_ms + 1000 * (int64_t)run->phase->stop_s + CANCEL_MARGIN_MS;
}

bool allocation_is_wanted_by_others(const struct run *run)
{
    const struct run *other;
    for (size_t at = 0; (other = allocation_next_run(run->seat->allocation, &at));) {
        if (other == run || other->state == RUN_ENDED)
            continue;
        bool saves =
            other->has_begun && (!run->has_begun || run_patience(other) > run_patience(run));
        if (other->wish == WISH_NONE || saves)
            return true;
    }
    return false;
}

bool allocation_is_awaited(const struct allocation *allocation)
{
    const struct run *run;
    for (size_t at = 0; (run = allocation_next_run(allocation, &at));)
        if (run->state == RUN_SUBMITTING || seat_is_open(run))
            return true;
    return false;
}

bool allocation_is_wanted(const struct allocation *allocation)
{
    const struct run *run;
    for (size_t at = 0; (run = allocation_next_run(allocation, &at));)
        if (run->state != RUN_ENDED && run->wish == WISH_NONE)
            return true;
    return false;
}

bool run_is_stuck(const struct run *run)
{
    return run->wish == WISH_NONE && run->seat->allocation->is_closed &&
           (!seat_is_open(run) || !seat_left(run->seat));
}

bool core_allocation_is_needed(const struct allocation *allocation)
{
    return !allocation->ended && allocation_is_awaited(allocation) &&
           allocation_is_wanted(allocation);
}

/* --- Polls ------------------------------------------------------------------------------------ */

bool allocation_is_seen(const struct allocation *allocation, const char *reason, const char *nodes)
{
    return strncmp(allocation->reason, reason, sizeof allocation->reason - 1) == 0 &&
           strncmp(allocation->nodes, nodes, sizeof allocation->nodes - 1) == 0;
}

/* Whether Slurm tells something new about the job. */
static bool allocation_differs(const struct core_event *event)
{
    const struct allocation *allocation = event->allocation;
    const char *reason = event->seen.reason ? event->seen.reason : "";
    const char *nodes = event->seen.nodes ? event->seen.nodes : "";
    bool has_limit = event->seen.limit_s && event->seen.limit_s != allocation->time_s;
    return allocation->absent_since_ms || allocation->state != event->seen.state || has_limit ||
           allocation->restarts != event->seen.restarts ||
           !allocation_is_seen(allocation, reason, nodes);
}

/* Slurm may have got the cancellation after the question about the job, or may not have answered
 * the cancellation yet. So the cancellation counts as forgotten only after a while. */
bool allocation_outlives_cancel(const struct core_event *event)
{
    const struct allocation *allocation = event->allocation;
    int64_t lasted_ms = event->now_ms - allocation->closed_ms; /* below 0: the clock was set back */
    return allocation->is_closed && !event->seen.is_final && !event->seen.is_completing &&
           (lasted_ms < 0 || lasted_ms >= CANCEL_AGAIN_MS);
}

/* The states come first because that is fast; the rest looks at all runs. */
bool allocation_is_left_running(const struct allocation *allocation, const struct core_event *event)
{
    if (event->seen.state != CLUSTER_JOB_RUNNING || allocation->ended)
        return false;
    const struct run *run = allocation_run(allocation);
    return run->state == RUN_ENDED && run->seat->allocation == allocation &&
           allocation_is_idle(allocation);
}

bool core_job_is_news(const struct core_event *event)
{
    const struct allocation *allocation = event->allocation;
    bool is_put_off = event->seen.is_waiting && event->seen.restarts > 0;
    /* These are news at each poll. allocation_on_seen() looks at the runs, which change, and only
     * an answer of Slurm shows that a job still runs after its last run. */
    bool is_unstarted = event->seen.state == CLUSTER_JOB_PENDING && allocation->started_ms;
    if (allocation->ended)
        return event->seen.is_final ? allocation->is_back && allocation->slurm_id == event->slurm_id
                                    : !event->seen.is_completing;
    return event->seen.is_final || event->seen.is_stuck || is_put_off || is_unstarted ||
           allocation_differs(event) || allocation_outlives_cancel(event) ||
           allocation_is_left_running(allocation, event);
}

bool core_job_is_missed(const struct allocation *allocation)
{
    return allocation->slurm_id && (!allocation->ended || allocation->is_back);
}
