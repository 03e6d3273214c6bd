/* Carries out the effects that were committed. An effect that cannot be carried out now waits and
 * is tried again. An event tells the core what was done. */
#include "daemon/loop/loop_private.h"

#include "daemon/loop/clock.h"
#include "daemon/loop/crash.h"

#include <stdio.h>
#include <stdlib.h>

/* --- With the transaction --------------------------------------------------------------------- */

static void log_move(const struct core_effect *effect)
{
    const struct phase *phase = effect->phase;
    char run[32] = "";
    if (effect->run)
        (void)snprintf(run, sizeof run, "#%u", effect->run->attempt);
    log_line("%s %llu/%s%s: %s -> %s%s%s%s", effect->run ? "run" : "phase",
             (unsigned long long)effect->workflow->id, phase ? phase->name : "", run,
             effect->from ? effect->from : "", effect->to ? effect->to : "",
             effect->message[0] ? " (" : "", effect->message, effect->message[0] ? ")" : "");
}

static void move_up_superseded(struct loop *loop, const struct allocation *allocation)
{
    struct pending *pending = outbox_find(&loop->outbox, FX_SUBMIT, allocation->id);
    if (pending && pending->state == PENDING_WAITING && !core_allocation_is_needed(allocation))
        outbox_move_up(&loop->outbox, pending);
}

/* If a person wants the run to stop, its waiting submission is due at once. It is then given up,
 * after a restart only once Slurm has said that it does not have the job. Otherwise the submission
 * might wait for minutes. */
static void move_up_ended(struct loop *loop, const struct run *run)
{
    const struct workflow *workflow = run->phase->workflow;
    if (run->wish == WISH_NONE || run->state == RUN_ENDED || run->has_begun)
        return;
    for (size_t i = 0; i < workflow->allocation_count; i++) {
        struct allocation *allocation = workflow->allocations[i];
        if (run_is_in(run, allocation))
            move_up_superseded(loop, allocation);
    }
}

void effects_keep(struct loop *loop, const struct core_effect *effect)
{
    struct core_effect own = *effect;
    own.due_ms = own.due_ms ? clock_of(own.due_ms) : 0;
    outbox_apply(&loop->outbox, &own);
}

void effects_committed(struct loop *loop, const struct core_effect *effect)
{
    switch (effect->kind) {
    case FX_HISTORY:
        log_move(effect);
        loop->has_history = true;
        break;
    case FX_WARNING:
        log_line("warning: run %llu/%s#%u: %s", (unsigned long long)effect->workflow->id,
                 effect->run->phase->name, effect->run->attempt, effect->message);
        loop->has_history = true;
        break;
    case FX_PROMOTION:
    case FX_BLAME_NODE:
        loop->has_history = true;
        break;
    case FX_SAVE_JOB:
        index_allocation(loop, effect->allocation);
        break;
    case FX_SAVE_RUN:
        map_put(&loop->runs, effect->run->id, effect->run);
        move_up_ended(loop, effect->run);
        break;
    default:
        break;
    }
    if (core_effect_rows[effect->kind].is_kept)
        effects_keep(loop, effect);
}

/* --- Carrying out ----------------------------------------------------------------------------- */

/* The submission may have been carried out before the restart. So Slurm is asked first. */
static void doubt(struct loop *loop, struct pending *pending)
{
    const struct core_event event = {.kind = EV_UNSURE,
                                     .workflow = pending->effect.workflow,
                                     .allocation = pending->effect.allocation,
                                     .message = "the daemon was restarted"};
    struct post *post = post_new(NULL, &event);
    outbox_begin(&loop->outbox, pending, PENDING_STANDING);
    STAILQ_INSERT_TAIL(&loop->queue, post, link);
}

static void carry(struct loop *loop, struct pending *pending, int64_t now_ms)
{
    if (pending->is_doubtful) {
        doubt(loop, pending);
        return;
    }
    const char *name = core_effect_rows[pending->effect.kind].name;
    crash_point(name, CRASH_BEFORE);
    int carried = rooms_carry(loop, &pending->effect);
    crash_point(name, CRASH_AFTER);
    outbox_begin(&loop->outbox, pending,
                 carried == CARRIED_REQUEST ? PENDING_UNDER_WAY : PENDING_STANDING);
    if (carried >= CARRIED_LATER_MS)
        outbox_retry(&loop->outbox, pending, now_ms + carried - CARRIED_LATER_MS);
}

void effects_run(struct loop *loop)
{
    struct pending *pending;
    int64_t now_ms = loop->carry_ms = clock_ms();
    bool has_any = outbox_due(&loop->outbox, OUTBOX_OWN, now_ms) ||
                   outbox_due(&loop->outbox, OUTBOX_CLUSTER, now_ms);
    if (has_any && !loop_is_owner(loop))
        return;
    while ((pending = outbox_due(&loop->outbox, OUTBOX_OWN, now_ms)))
        carry(loop, pending, now_ms);
    while (cluster_can_take(loop->cluster) &&
           (pending = outbox_due(&loop->outbox, OUTBOX_CLUSTER, now_ms)))
        carry(loop, pending, now_ms);
}

/* --- What the cluster answers ----------------------------------------------------------------- */

void loop_note_answer(struct loop *loop, const struct cluster_result *result)
{
    struct loop_cluster_state *state = &loop->cluster_state;
    bool is_answering = result->outcome != CLUSTER_UNREACHABLE;
    if (result->cluster[0])
        (void)snprintf(state->name, sizeof state->name, "%s", result->cluster);
    if (is_answering != state->is_answering)
        log_line("Slurm %s%s%s", is_answering ? "answers" : "does not answer",
                 is_answering ? "" : ": ", is_answering ? "" : result->message);
    state->is_answering = is_answering;
    (void)snprintf(state->message, sizeof state->message, "%s",
                   is_answering ? "" : result->message);
}

/* The effect that the cluster answers; NULL: a room has asked on its own. */
static struct pending *pending_of(const struct loop *loop, const struct cluster_result *result)
{
    switch (result->kind) {
    case CLUSTER_SUBMIT:
        return outbox_find(&loop->outbox, FX_SUBMIT, result->target);
    case CLUSTER_LOOKUP:
        return outbox_find(&loop->outbox, FX_LOOKUP, result->target);
    case CLUSTER_CANCEL:
        return outbox_find(&loop->outbox, FX_CANCEL_JOB, result->target);
    case CLUSTER_BEGIN:
        return outbox_find(&loop->outbox, FX_BEGIN_JOB, result->target);
    case CLUSTER_POLL:
    case CLUSTER_SURVEY:
        break;
    }
    return NULL;
}

void effects_answer(struct loop *loop)
{
    struct cluster_result result;
    while (cluster_take(loop->cluster, &result)) {
        struct pending *pending = pending_of(loop, &result);
        binding_check(loop, &result);
        loop_note_answer(loop, &result);
        int carried = rooms_answer(loop, pending ? &pending->effect : NULL, &result);
        cluster_result_fini(&result);
        if (pending && outbox_end(&loop->outbox, pending) && pending->state == PENDING_STANDING &&
            carried >= CARRIED_LATER_MS)
            outbox_retry(&loop->outbox, pending, clock_ms() + carried - CARRIED_LATER_MS);
    }
}

/* --- For rooms -------------------------------------------------------------------------------- */

int64_t loop_carry_ms(const struct loop *loop)
{
    return clock_day_of(loop->carry_ms);
}

enum effect_state loop_effect(const struct loop *loop, enum core_effect_kind kind, uint64_t id)
{
    const struct pending *pending = outbox_find(&loop->outbox, kind, id);
    if (!pending)
        return EFFECT_NONE;
    if (pending->state == PENDING_WAITING)
        return pending->due_ms <= clock_ms() ? EFFECT_DUE : EFFECT_WAITING;
    return pending->state == PENDING_UNDER_WAY ? EFFECT_UNDER_WAY : EFFECT_STANDING;
}
