/* Allocations. Only this file submits, looks up, adopts, misses and cancels jobs. Its facts tell
 * the runs what has become of their jobs. */
#include "daemon/core/decision.h"

#include "lib/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* --- Cancelling ------------------------------------------------------------------------------- */

void allocation_cancel(struct decision *decision, struct run *run)
{
    struct allocation *allocation = run->seat->allocation;
    if (allocation->ended)
        return;
    allocation->is_closed = true;
    allocation->closed_ms = decision->now_ms;
    (void)decision_do(decision, FX_CANCEL_JOB, run);
}

/* Cancels the allocation for no run in particular. */
static void allocation_close(struct decision *decision, struct allocation *allocation)
{
    allocation->is_closed = true;
    allocation->closed_ms = decision->now_ms;
    (void)decision_do_job(decision, FX_CANCEL_JOB, allocation);
}

void allocation_withdraw(struct decision *decision, struct run *run)
{
    if (allocation_is_wanted_by_others(run))
        (void)decision_do(decision, FX_TELL_STOP, run);
    else
        allocation_cancel(decision, run);
}

/* --- Asking for an allocation ----------------------------------------------------------------- */

static void allocation_set_reason(struct allocation *allocation, const char *reason)
{
    (void)snprintf(allocation->reason, sizeof allocation->reason, "%s", reason ? reason : "");
}

/* Asks for FX_SUBMIT or FX_LOOKUP, not before `due_ms`. */
static void allocation_ask(struct decision *decision, enum core_effect_kind kind,
                           struct allocation *allocation, int64_t due_ms)
{
    assert(kind == FX_SUBMIT || kind == FX_LOOKUP);
    allocation->is_asked = true;
    decision_do_job(decision, kind, allocation)->due_ms = due_ms;
}

/* Notes that Slurm, or the look-up, has answered. */
static void allocation_stop_asking(struct decision *decision, struct allocation *allocation)
{
    allocation->is_asked = false;
    decision_done_job(decision, FX_SUBMIT, allocation);
    decision_done_job(decision, FX_LOOKUP, allocation);
}

/* When to ask again after another failed try. */
static int64_t allocation_back_off(struct decision *decision, struct allocation *allocation)
{
    int64_t delay_ms = RETRY_FIRST_MS << (allocation->tries < 5 ? allocation->tries : 5);
    allocation->tries++;
    return decision->now_ms + (delay_ms < RETRY_LAST_MS ? delay_ms : RETRY_LAST_MS);
}

/* Adds an allocation for the seat of the run. `type` names the type of GPUs; empty: the phase names
 * it. */
static void allocation_add(struct decision *decision, struct run *run, const char *type,
                           size_t size, int64_t due_ms)
{
    const struct phase *phase = run->phase;
    struct allocation *allocation = workflow_add_allocation(phase->workflow);
    *allocation = (struct allocation){.workflow = phase->workflow,
                                      .id = ++decision->config->last_job,
                                      .seat = run->seat,
                                      .node_count = phase->nodes,
                                      .gpus_per_node = phase->gpus_per_node,
                                      .time_s = phase->time_s};
    decision_new_token(decision, allocation->token);
    (void)snprintf(allocation->gpu_type, sizeof allocation->gpu_type, "%.*s", (int)size, type);
    if (due_ms > decision->now_ms)
        (void)snprintf(allocation->reason, sizeof allocation->reason,
                       "a pause of %lld s after the failure",
                       (long long)(due_ms - decision->now_ms) / 1000);
    if (!run->seat->allocation) {
        run->seat->allocation = allocation;
        memcpy(run->seat->token, allocation->token, sizeof allocation->token);
    }
    decision_save_job(decision, allocation);
    allocation_ask(decision, FX_SUBMIT, allocation, due_ms);
}

void allocation_new(struct decision *decision, struct run *run, int64_t due_ms)
{
    const char *types = run->phase->alternatives;
    if (!types)
        allocation_add(decision, run, "", 0, due_ms);
    while (types && *types) {
        size_t size = strcspn(types, ",");
        allocation_add(decision, run, types, size, due_ms);
        types += size + (types[size] == ',');
    }
}

/* The allocation will never serve a run. Its runs are told, unless another candidate is left for
 * their seat. */
static void allocation_fail(struct decision *decision, struct allocation *allocation,
                            enum fact_kind fact)
{
    allocation->ended = true;
    decision_save_job(decision, allocation);
    if (seat_loses(decision, allocation))
        decision_tell_job(decision, fact, allocation);
}

/* Slurm does not know the job. If a run needs the job and no answer is pending, submits it.
 * Otherwise gives it up. */
static void allocation_ask_again(struct decision *decision, struct allocation *allocation)
{
    if (allocation->is_asked || !allocation_is_awaited(allocation))
        return;
    if (core_allocation_is_needed(allocation))
        allocation_ask(decision, FX_SUBMIT, allocation, 0);
    else
        allocation_fail(decision, allocation, FACT_JOB_GIVEN_UP);
}

bool allocation_may_come(struct decision *decision, struct run *run)
{
    struct workflow *workflow = run->phase->workflow;
    bool may_come = false;
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        struct allocation *allocation = workflow->allocations[i];
        if (allocation->ended || !run_is_in(run, allocation))
            continue;
        may_come = may_come || seat_is_open(run) ||
                   (run->state == RUN_SUBMITTING && !allocation->slurm_id);
        if (!allocation->slurm_id)
            allocation_ask_again(decision, allocation);
    }
    return may_come;
}

/* --- Answers to what was asked ---------------------------------------------------------------- */

/* Slurm has the job, under this id. */
static void allocation_adopt(struct decision *decision, struct allocation *allocation)
{
    allocation->slurm_id = decision->event->slurm_id;
    allocation->submitted_ms = decision->now_ms;
    allocation_set_reason(allocation, "");
    decision_save_job(decision, allocation);
    decision_tell_job(decision, FACT_JOB_KNOWN, allocation);
}

static void allocation_on_submitted(struct decision *decision, struct allocation *allocation)
{
    allocation_stop_asking(decision, allocation);
    allocation->tries = 0;
    allocation_adopt(decision, allocation);
}

static void allocation_on_refused(struct decision *decision, struct allocation *allocation)
{
    allocation_stop_asking(decision, allocation);
    if (!allocation_is_awaited(allocation) && !allocation_is_idle(allocation))
        return; /* the lead of the job has reported */
    allocation_set_reason(allocation, decision->event->message);
    allocation_fail(decision, allocation, FACT_JOB_REFUSED);
}

static void allocation_on_limited(struct decision *decision, struct allocation *allocation)
{
    bool is_needed = core_allocation_is_needed(allocation);
    if (decision->event->retry_ms && is_needed) { /* the submission was not tried, and waits */
        allocation_set_reason(allocation, decision->event->message);
        decision_save_job(decision, allocation);
        allocation_ask(decision, FX_SUBMIT, allocation, decision->event->retry_ms);
        return;
    }
    allocation_stop_asking(decision, allocation);
    if (!is_needed) {
        if (allocation_is_awaited(allocation))
            allocation_fail(decision, allocation, FACT_JOB_GIVEN_UP);
        return;
    }
    allocation_set_reason(allocation, decision->event->message);
    if (allocation->tries >= LIMITED_TRIES_SAID) {
        char reason[REASON_MAX];
        (void)snprintf(reason, sizeof reason, "%.200s; phased has tried %u times",
                       allocation->reason, allocation->tries);
        allocation_set_reason(allocation, reason);
    }
    decision_save_job(decision, allocation);
    allocation_ask(decision, FX_SUBMIT, allocation, allocation_back_off(decision, allocation));
}

static void allocation_on_unsure(struct decision *decision, struct allocation *allocation)
{
    allocation_stop_asking(decision, allocation);
    allocation_set_reason(allocation, decision->event->message);
    decision_save_job(decision, allocation);
    allocation_ask(decision, FX_LOOKUP, allocation, allocation_back_off(decision, allocation));
}

/* Slurm forgets jobs some minutes after their end. So the folders of the runs are read first. */
static void allocation_on_unknown(struct decision *decision, struct allocation *allocation)
{
    allocation_stop_asking(decision, allocation);
    if (allocation_is_awaited(allocation))
        decision_tell_job(decision, FACT_JOB_MISSED, allocation);
}

void allocation_set_start(struct decision *decision, struct allocation *allocation,
                          int64_t started_ms)
{
    int64_t before_ms = allocation->started_ms;
    struct run *run;
    if (started_ms == before_ms)
        return;
    allocation->started_ms = started_ms;
    decision_save_job(decision, allocation);
    for (size_t at = 0; before_ms && (run = allocation_next_run(allocation, &at));) {
        if (run->job_started_ms != before_ms)
            continue;
        run->job_started_ms = started_ms;
        decision_save_run(decision, run);
    }
}

void allocation_pull_start(struct decision *decision, struct run *run)
{
    struct allocation *allocation = run->seat->allocation;
    if (allocation->started_ms > run->started_ms)
        allocation_set_start(decision, allocation, run->started_ms);
    run->job_started_ms = allocation->started_ms;
}

void allocation_learn_id(struct decision *decision, const struct run *run)
{
    struct allocation *allocation = run->seat->allocation;
    if (allocation->slurm_id || !decision->event->slurm_id)
        return;
    allocation->slurm_id = decision->event->slurm_id;
    decision_save_job(decision, allocation);
    decision_tell_job(decision, FACT_JOB_KNOWN, allocation);
}

void allocation_reported(struct decision *decision, struct run *run)
{
    struct allocation *allocation = run->seat->allocation;
    bool has_started = allocation->started_ms;
    allocation_learn_id(decision, run);
    if (decision->event->slurm_id)
        allocation->slurm_id = decision->event->slurm_id;
    if (!has_started)
        allocation->started_ms = run->started_ms;
    allocation_pull_start(decision, run);
    decision_save_job(decision, allocation);
    if (!has_started)
        decision_tell_job(decision, FACT_JOB_RUNS, allocation);
}

/* --- What Slurm shows ------------------------------------------------------------------------- */

/* When the allocation ended: the time that Slurm gives, or else when the daemon first missed the
 * job. Nobody pays for time in which nobody saw the job. */
static int64_t allocation_end_ms(const struct decision *decision,
                                 const struct allocation *allocation)
{
    int64_t since_ms = allocation->started_ms ? allocation->started_ms : allocation->submitted_ms;
    int64_t told_ms = decision->event->seen.ended_ms;
    int64_t missed_ms =
        allocation->absent_since_ms ? allocation->absent_since_ms : decision->now_ms;
    if (!told_ms)
        return decision_ended_ms(decision, since_ms, 0, missed_ms);
    /* Slurm may tell the start of a later life of the job. */
    bool is_same = allocation->started_ms && decision->event->seen.restarts == allocation->restarts;
    return decision_ended_ms(decision, since_ms, is_same ? decision->event->seen.started_ms : 0,
                             told_ms);
}

/* The allocation serves no run any more. Its lead may have claimed the folder of the seat, and may
 * have written there how the run ended. So the folder is read even if other candidates are left. */
static void allocation_end(struct decision *decision, struct allocation *allocation)
{
    struct run *run;
    allocation->ended = true;
    allocation->ended_ms = allocation_end_ms(decision, allocation);
    allocation->end_seen_ms = allocation->absent_since_ms ? 0 : decision->now_ms;
    decision_save_job(decision, allocation);
    decision_done_job(decision, FX_CANCEL_JOB, allocation);
    decision_done_job(decision, FX_BEGIN_JOB, allocation);
    for (size_t at = 0; (run = allocation_next_run(allocation, &at));)
        decision_done(decision, FX_TELL_END, run);
    bool is_last = seat_loses(decision, allocation);
    decision_tell_job(decision, is_last ? FACT_JOB_ENDED : FACT_JOB_MISSED, allocation);
}

/* Slurm holds the job, and will never start it. */
static void allocation_on_stuck(struct decision *decision, struct allocation *allocation)
{
    const struct run *run = allocation_run(allocation);
    allocation_close(decision, allocation);
    if (!seat_is_open(run) || !seat_left(run->seat))
        decision_tell_job(decision, FACT_JOB_STUCK, allocation);
}

/* A pending job may be stuck, or may wait after a requeue although it could begin. */
static void allocation_on_pending(struct decision *decision, struct allocation *allocation)
{
    const struct core_event *event = decision->event;
    const struct run *run = allocation_run(allocation);
    bool is_wanted =
        (run->wish == WISH_NONE && run_is_in(run, allocation)) || allocation_is_wanted(allocation);
    if (event->seen.is_stuck)
        allocation_on_stuck(decision, allocation);
    else if (event->seen.is_waiting && allocation->restarts && is_wanted)
        (void)decision_do_job(decision, FX_BEGIN_JOB, allocation);
}

/* Notes the state, reason and nodes; true if they are new. */
static bool allocation_note(const struct decision *decision, struct allocation *allocation)
{
    const struct core_event *event = decision->event;
    const char *reason = event->seen.reason ? event->seen.reason : "";
    const char *nodes = event->seen.nodes ? event->seen.nodes : "";
    if (event->seen.is_stuck && !*nodes)
        nodes = allocation->nodes; /* the nodes that were seen: the launch failed there */
    bool is_news = allocation->absent_since_ms || allocation->state != event->seen.state ||
                   !allocation_is_seen(allocation, reason, nodes);
    allocation->absent_since_ms = 0;
    allocation->state = event->seen.state;
    if (nodes != allocation->nodes)
        (void)snprintf(allocation->nodes, sizeof allocation->nodes, "%s", nodes);
    allocation_set_reason(allocation, reason);
    return is_news;
}

/* Notes the restarts, start and limit; true if they are new. */
static bool allocation_note_times(struct decision *decision, struct allocation *allocation)
{
    const struct core_event *event = decision->event;
    bool is_news = false;
    if (event->seen.restarts > allocation->restarts) {
        allocation->restarts = event->seen.restarts;
        allocation->started_ms = 0;
        decision_tell_job(decision, FACT_JOB_RESTARTED, allocation);
        is_news = true;
    }
    if (event->seen.state == CLUSTER_JOB_RUNNING && !allocation->started_ms) {
        allocation->started_ms = decision_began_ms(decision, event->seen.started_ms,
                                                   run_earliest_ms(allocation_run(allocation)));
        is_news = true;
    }
    if (event->seen.limit_s && event->seen.limit_s != allocation->time_s) {
        allocation->time_s = event->seen.limit_s; /* of the partition, or a person's */
        is_news = true;
    }
    return is_news;
}

/* A controller that was killed forgets that it has cancelled the job. */
static void allocation_cancel_again(struct decision *decision, struct allocation *allocation)
{
    if (!allocation_outlives_cancel(decision->event))
        return;
    /* 0: the daemon has just started, and the loop repeats the cancellation. */
    if (allocation->closed_ms)
        (void)decision_do_job(decision, FX_CANCEL_JOB, allocation);
    allocation->closed_ms = decision->now_ms;
}

static void allocation_on_seen(struct decision *decision, struct allocation *allocation)
{
    const struct core_event *event = decision->event;
    if (!allocation->slurm_id) /* seen before the submission is answered */
        allocation_adopt(decision, allocation);
    bool is_news = allocation_note(decision, allocation);
    if (event->seen.is_final) {
        allocation_end(decision, allocation);
        return;
    }
    if (allocation_note_times(decision, allocation) || is_news)
        decision_save_job(decision, allocation);
    if (event->seen.state == CLUSTER_JOB_PENDING) {
        decision_tell_job(decision, FACT_JOB_WAITS, allocation);
        /* A controller that was killed may have forgotten the start. While runs follow, however,
         * the answer may be from before the start. */
        if (allocation->started_ms && allocation_is_left(allocation)) {
            allocation->started_ms = 0;
            decision_save_job(decision, allocation);
        }
    }
    if (event->seen.state == CLUSTER_JOB_RUNNING) {
        decision_done_job(decision, FX_BEGIN_JOB, allocation);
        decision_tell_job(decision, FACT_JOB_RUNS, allocation);
    } else {
        allocation_on_pending(decision, allocation);
    }
    allocation_cancel_again(decision, allocation);
}

static void allocation_on_absent(struct decision *decision, struct allocation *allocation)
{
    int64_t lost_after_ms =
        decision->config->absence_ms ? decision->config->absence_ms : ABSENCE_MS;
    /* Nobody has looked for a while: the daemon or the controller was away. */
    bool is_new = decision->now_ms - allocation->absent_seen_ms > ABSENCE_GAP_MS;
    allocation->absent_seen_ms = decision->now_ms;
    if (!allocation->absent_since_ms || is_new) {
        allocation->absent_since_ms = decision->now_ms;
        decision_save_job(decision, allocation);
        decision_tell_job(decision, FACT_JOB_MISSED, allocation);
    }
    if (allocation_is_idle(allocation) ||
        decision->now_ms - allocation->absent_since_ms >= lost_after_ms) {
        allocation->state = CLUSTER_JOB_NONE;
        allocation_end(decision, allocation);
    }
}

/* --- Jobs that come back ---------------------------------------------------------------------- */

static void allocation_warn(struct decision *decision, const struct allocation *allocation,
                            const char *what)
{
    struct run *run = allocation_run(allocation);
    struct core_effect *warning = decision_add(decision, FX_WARNING, run->phase->workflow);
    warning->run = run;
    (void)snprintf(warning->message, sizeof warning->message,
                   "job %u was over, and Slurm has it again (%s): %s", allocation->slurm_id,
                   cluster_job_state_name(decision->event->seen.state), what);
}

/* A run in the allocation has not ended, so no other run was begun in its place. */
static void allocation_revive(struct decision *decision, struct allocation *allocation)
{
    bool goes_on = allocation_run(allocation)->wish == WISH_NONE;
    seat_regains(decision, allocation);
    allocation_warn(decision, allocation, goes_on ? "its run goes on" : "its run is stopped again");
    allocation->ended = allocation->is_closed = false;
    allocation->ended_ms = allocation->started_ms = 0;
    decision_save_job(decision, allocation);
    decision_tell_job(decision, FACT_JOB_BACK, allocation);
    allocation_on_seen(decision, allocation);
}

static void allocation_on_gone(struct decision *decision, struct allocation *allocation)
{
    allocation->is_back = false;
    decision_done_job(decision, FX_CANCEL_JOB, allocation);
}

/* Slurm said that the job is over, or did not know the job for long, and has the job now. A
 * controller that was restored from an older state starts such jobs again. Another run may have
 * taken the place of the job's run since then. */
static void allocation_on_back(struct decision *decision, struct allocation *allocation)
{
    if (decision->event->seen.is_final) {
        allocation_on_gone(decision, allocation);
        return;
    }
    uint32_t slurm_id = decision->event->slurm_id;
    bool is_other = slurm_id && slurm_id != allocation->slurm_id; /* with the same token */
    if (is_other)
        allocation->slurm_id = slurm_id;
    if (!allocation_is_idle(allocation)) {
        allocation_revive(decision, allocation);
        return;
    }
    if (!allocation->is_back)
        allocation_warn(decision, allocation, "it is cancelled");
    if (!allocation->is_back || is_other)
        decision_save_job(decision, allocation);
    allocation->is_back = true;
    /* Cancels again, if the last cancellation has not helped. */
    (void)decision_do_job(decision, FX_CANCEL_JOB, allocation);
}

/* --- The table -------------------------------------------------------------------------------- */

typedef void allocation_handler(struct decision *decision, struct allocation *allocation);

/* A row for each state. An answer comes too late when the allocation is known or over. */
static allocation_handler *const allocation_table[ALLOCATION_STATE_COUNT][FACT_COUNT] = {
    [ALLOCATION_INTENDED] =
        {
            [EV_SUBMITTED] = allocation_on_submitted,
            [EV_REFUSED] = allocation_on_refused,
            [EV_LIMITED] = allocation_on_limited,
            [EV_UNSURE] = allocation_on_unsure,
            [EV_UNKNOWN] = allocation_on_unknown,
            [EV_JOB_SEEN] = allocation_on_seen,
        },
    [ALLOCATION_KNOWN] =
        {
            [EV_SUBMITTED] = allocation_stop_asking,
            [EV_REFUSED] = allocation_stop_asking,
            [EV_LIMITED] = allocation_stop_asking,
            [EV_UNSURE] = allocation_stop_asking,
            [EV_UNKNOWN] = allocation_stop_asking,
            [EV_JOB_SEEN] = allocation_on_seen,
            [EV_JOB_ABSENT] = allocation_on_absent,
        },
    [ALLOCATION_ENDED] =
        {
            [EV_SUBMITTED] = allocation_stop_asking,
            [EV_REFUSED] = allocation_stop_asking,
            [EV_LIMITED] = allocation_stop_asking,
            [EV_UNSURE] = allocation_stop_asking,
            [EV_UNKNOWN] = allocation_stop_asking,
            [EV_JOB_SEEN] = allocation_on_back,
            [EV_JOB_ABSENT] = allocation_on_gone,
        },
};

enum allocation_state allocation_state(const struct allocation *allocation)
{
    return allocation->ended      ? ALLOCATION_ENDED
           : allocation->slurm_id ? ALLOCATION_KNOWN
                                  : ALLOCATION_INTENDED;
}

void allocation_on_fact(struct decision *decision, const struct fact *fact)
{
    allocation_handler *handler = allocation_table[allocation_state(fact->allocation)][fact->kind];
    if (handler)
        handler(decision, fact->allocation);
}

/* --- Afterwards ------------------------------------------------------------------------------- */

static void candidate_settle(struct decision *decision, struct allocation *candidate)
{
    const struct run *run = allocation_run(candidate);
    if (!seat_is_done_with(run, candidate))
        return;
    if (candidate->slurm_id && !candidate->is_closed) {
        allocation_close(decision, candidate);
    } else if (!candidate->slurm_id && !candidate->is_asked && !seat_is_open(run)) {
        candidate->ended = true; /* no run waits for it */
        decision_save_job(decision, candidate);
    }
}

/* The job waits after its last run: Slurm has requeued the job, or has forgotten that it ran. A
 * lead would find nothing to do in the job. A held job would never get a lead. allocation_run()
 * comes first because it is fast; allocation_is_left() looks at all runs of the workflow. */
static void waiting_settle(struct decision *decision, struct allocation *allocation)
{
    if (allocation->started_ms || allocation->is_closed ||
        allocation->state != CLUSTER_JOB_PENDING ||
        allocation_run(allocation)->state != RUN_ENDED || !allocation_is_left(allocation))
        return;
    allocation_close(decision, allocation);
}

void allocation_settle(struct decision *decision, struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        struct allocation *allocation = workflow->allocations[i];
        if (!allocation->ended && allocation_is_candidate(allocation))
            candidate_settle(decision, allocation);
        if (!allocation->ended)
            waiting_settle(decision, allocation);
    }
}

bool allocation_is_going(const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        const struct allocation *allocation = workflow->allocations[i];
        if (allocation->is_back ||
            (allocation_is_candidate(allocation) && allocation->is_closed && !allocation->ended))
            return true;
    }
    return false;
}
