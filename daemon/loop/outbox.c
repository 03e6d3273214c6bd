/* The waiting duties stand in two lists, sorted by due time. Back-offs are about as long as each
 * other, so the place of a new one is found quickly from the end. */
#include "daemon/loop/outbox.h"

#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t key_of(enum core_effect_kind kind, uint64_t id)
{
    _Static_assert(FX_COUNT <= 32, "a kind needs five bits of a key");
    return (id << 5) + (uint64_t)kind;
}

static enum outbox_line line_of(const struct duty *duty)
{
    return core_effect_needs_cluster(duty->effect.kind) ? OUTBOX_CLUSTER : OUTBOX_OWN;
}

static void wait_in_line(struct outbox *outbox, struct duty *duty, int64_t due_ms)
{
    duty->state = DUTY_WAITING;
    duty->due_ms = due_ms;
    struct duty **first = &outbox->first[line_of(duty)], **last = &outbox->last[line_of(duty)];
    struct duty *before = *last;
    while (before && before->due_ms > due_ms)
        before = before->prev;
    duty->prev = before;
    duty->next = before ? before->next : *first;
    *(before ? &before->next : first) = duty;
    *(duty->next ? &duty->next->prev : last) = duty;
}

static void leave_line(struct outbox *outbox, struct duty *duty)
{
    enum outbox_line line = line_of(duty);
    *(duty->prev ? &duty->prev->next : &outbox->first[line]) = duty->next;
    *(duty->next ? &duty->next->prev : &outbox->last[line]) = duty->prev;
    duty->prev = duty->next = NULL;
}

static void forget(struct outbox *outbox, struct duty *duty)
{
    if (duty->state == DUTY_WAITING)
        leave_line(outbox, duty);
    (void)map_remove(&outbox->duties, key_of(duty->effect.kind, duty_id(duty)));
    free(duty);
}

void outbox_fini(struct outbox *outbox)
{
    uint64_t key;
    struct duty *duty;
    while ((duty = map_any(&outbox->duties, &key))) {
        (void)map_remove(&outbox->duties, key);
        free(duty);
    }
    map_fini(&outbox->duties);
    *outbox = (struct outbox){0};
}

void outbox_apply(struct outbox *outbox, const struct core_effect *effect)
{
    assert(core_effect_is_kept(effect->kind));
    struct duty *duty = outbox_find(outbox, effect->kind, core_effect_target(effect));
    if (effect->is_done) {
        if (duty && duty->state == DUTY_UNDER_WAY)
            duty->is_done = true;
        else if (duty)
            forget(outbox, duty);
        return;
    }
    if (!duty) {
        duty = xcalloc(1, sizeof *duty);
        duty->effect = *effect;
        map_put(&outbox->duties, key_of(effect->kind, duty_id(duty)), duty);
        wait_in_line(outbox, duty, effect->due_ms);
        return;
    }
    duty->effect = *effect;
    if (duty->state == DUTY_UNDER_WAY) {
        duty->again = true;
        duty->is_done = false;
        return;
    }
    if (duty->state == DUTY_WAITING)
        leave_line(outbox, duty);
    wait_in_line(outbox, duty, effect->due_ms);
}

struct duty *outbox_find(const struct outbox *outbox, enum core_effect_kind kind, uint64_t id)
{
    return map_find(&outbox->duties, key_of(kind, id));
}

uint64_t duty_id(const struct duty *duty)
{
    return core_effect_target(&duty->effect);
}

static bool is_pending(const struct outbox *outbox, enum core_about about, uint64_t id)
{
    for (int kind = 0; kind < FX_COUNT; kind++)
        if (core_effect_is_kept((enum core_effect_kind)kind) &&
            core_effect_about((enum core_effect_kind)kind) == about &&
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

struct duty *outbox_due(const struct outbox *outbox, enum outbox_line line, int64_t now_ms)
{
    struct duty *duty = outbox->first[line];
    return duty && duty->due_ms <= now_ms ? duty : NULL;
}

int64_t outbox_deadline(const struct outbox *outbox, int64_t now_ms)
{
    int64_t nearest = INT64_MAX;
    for (int line = 0; line < OUTBOX_LINES; line++) {
        const struct duty *duty = outbox->first[line];
        while (duty && duty->due_ms <= now_ms)
            duty = duty->next;
        if (duty && duty->due_ms < nearest)
            nearest = duty->due_ms;
    }
    return nearest;
}

void outbox_begin(struct outbox *outbox, struct duty *duty, enum duty_state state)
{
    assert(duty->state == DUTY_WAITING && state != DUTY_WAITING);
    leave_line(outbox, duty);
    duty->state = state;
}

bool outbox_end(struct outbox *outbox, struct duty *duty)
{
    assert(duty->state == DUTY_UNDER_WAY);
    duty->state = DUTY_STANDING;
    if (duty->is_done) {
        forget(outbox, duty);
        return false;
    }
    if (duty->again) {
        duty->again = false;
        wait_in_line(outbox, duty, duty->effect.due_ms);
    }
    return true;
}

void outbox_retry(struct outbox *outbox, struct duty *duty, int64_t due_ms)
{
    assert(duty->state == DUTY_STANDING);
    wait_in_line(outbox, duty, due_ms);
}

void outbox_hasten(struct outbox *outbox, struct duty *duty)
{
    assert(duty->state == DUTY_WAITING);
    leave_line(outbox, duty);
    wait_in_line(outbox, duty, 0);
}
