/* The effects that wait stand in two lists, sorted by due time. Submissions that are due at the
 * same moment stand behind other effects, in the order of their jobs, the oldest first. Most waits
 * are about equally long, so the place of a new effect is near the end. */
#include "daemon/loop/outbox.h"

#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t key_of(enum core_effect_kind kind, uint64_t id)
{
    _Static_assert(FX_COUNT <= 32, "a kind needs five bits of a key");
    return (id << 5) + (uint64_t)kind;
}

static enum outbox_line line_of(const struct pending *pending)
{
    return core_effect_rows[pending->effect.kind].needs_cluster ? OUTBOX_CLUSTER : OUTBOX_OWN;
}

static bool comes_after(const struct pending *one, const struct pending *other)
{
    bool is_submit = one->effect.kind == FX_SUBMIT;
    if (one->due_ms != other->due_ms)
        return one->due_ms > other->due_ms;
    if (is_submit != (other->effect.kind == FX_SUBMIT))
        return is_submit;
    return is_submit && pending_id(one) > pending_id(other);
}

static void wait_in_line(struct outbox *outbox, struct pending *pending, int64_t due_ms)
{
    pending->state = PENDING_WAITING;
    pending->due_ms = due_ms;
    struct pending **first = &outbox->first[line_of(pending)],
                   **last = &outbox->last[line_of(pending)];
    struct pending *before = *last;
    while (before && comes_after(before, pending))
        before = before->prev;
    pending->prev = before;
    pending->next = before ? before->next : *first;
    *(before ? &before->next : first) = pending;
    *(pending->next ? &pending->next->prev : last) = pending;
}

static void leave_line(struct outbox *outbox, struct pending *pending)
{
    enum outbox_line line = line_of(pending);
    *(pending->prev ? &pending->prev->next : &outbox->first[line]) = pending->next;
    *(pending->next ? &pending->next->prev : &outbox->last[line]) = pending->prev;
    pending->prev = pending->next = NULL;
}

static void forget(struct outbox *outbox, struct pending *pending)
{
    if (pending->state == PENDING_WAITING)
        leave_line(outbox, pending);
    (void)map_remove(&outbox->pending, key_of(pending->effect.kind, pending_id(pending)));
    free(pending);
}

void outbox_fini(struct outbox *outbox)
{
    uint64_t key;
    struct pending *pending;
    while ((pending = map_any(&outbox->pending, &key))) {
        (void)map_remove(&outbox->pending, key);
        free(pending);
    }
    map_fini(&outbox->pending);
    *outbox = (struct outbox){0};
}

void outbox_apply(struct outbox *outbox, const struct core_effect *effect)
{
    assert(core_effect_rows[effect->kind].is_kept);
    struct pending *pending = outbox_find(outbox, effect->kind, core_effect_target(effect));
    if (effect->is_done) {
        if (pending && pending->state == PENDING_UNDER_WAY)
            pending->is_done = true;
        else if (pending)
            forget(outbox, pending);
        return;
    }
    if (!pending) {
        pending = xcalloc(1, sizeof *pending);
        pending->effect = *effect;
        map_put(&outbox->pending, key_of(effect->kind, pending_id(pending)), pending);
        wait_in_line(outbox, pending, effect->due_ms);
        return;
    }
    pending->effect = *effect;
    if (pending->state == PENDING_UNDER_WAY) {
        pending->again = true;
        pending->is_done = false;
        return;
    }
    if (pending->state == PENDING_WAITING)
        leave_line(outbox, pending);
    wait_in_line(outbox, pending, effect->due_ms);
}

struct pending *outbox_find(const struct outbox *outbox, enum core_effect_kind kind, uint64_t id)
{
    return map_find(&outbox->pending, key_of(kind, id));
}

uint64_t pending_id(const struct pending *pending)
{
    return core_effect_target(&pending->effect);
}

static bool is_pending(const struct outbox *outbox, enum core_about about, uint64_t id)
{
    for (int kind = 0; kind < FX_COUNT; kind++)
        if (core_effect_rows[kind].is_kept && core_effect_rows[kind].about == about &&
            outbox_find(outbox, (enum core_effect_kind)kind, id))
            return true;
    return false;
}

bool outbox_concerns(const struct outbox *outbox, const struct workflow *workflow)
{
    for (size_t i = 0; i < workflow->allocation_count; i++)
        if (is_pending(outbox, ABOUT_JOB, workflow->allocations[i]->id))
            return true;
    for (size_t i = 0; i < workflow->run_count; i++)
        if (is_pending(outbox, ABOUT_RUN, workflow->runs[i]->id))
            return true;
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (is_pending(outbox, ABOUT_PHASE, workflow->phases[i].id))
            return true;
    return false;
}

struct pending *outbox_due(const struct outbox *outbox, enum outbox_line line, int64_t now_ms)
{
    struct pending *pending = outbox->first[line];
    return pending && pending->due_ms <= now_ms ? pending : NULL;
}

int64_t outbox_deadline(const struct outbox *outbox, int64_t now_ms)
{
    int64_t nearest = INT64_MAX;
    for (int line = 0; line < OUTBOX_LINES; line++) {
        const struct pending *pending = outbox->first[line];
        while (line == OUTBOX_CLUSTER && pending && pending->due_ms <= now_ms)
            pending = pending->next; /* a result will make room */
        if (pending && pending->due_ms < nearest)
            nearest = pending->due_ms;
    }
    return nearest;
}

void outbox_begin(struct outbox *outbox, struct pending *pending, enum pending_state state)
{
    assert(pending->state == PENDING_WAITING && state != PENDING_WAITING);
    leave_line(outbox, pending);
    pending->state = state;
}

bool outbox_end(struct outbox *outbox, struct pending *pending)
{
    assert(pending->state == PENDING_UNDER_WAY);
    pending->state = PENDING_STANDING;
    if (pending->is_done) {
        forget(outbox, pending);
        return false;
    }
    if (pending->again) {
        pending->again = false;
        wait_in_line(outbox, pending, pending->effect.due_ms);
    }
    return true;
}

void outbox_retry(struct outbox *outbox, struct pending *pending, int64_t due_ms)
{
    assert(pending->state == PENDING_STANDING);
    wait_in_line(outbox, pending, due_ms);
}

void outbox_move_up(struct outbox *outbox, struct pending *pending)
{
    assert(pending->state == PENDING_WAITING);
    leave_line(outbox, pending);
    wait_in_line(outbox, pending, 0);
}
