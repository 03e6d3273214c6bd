/* The rooms of a loop: their states and their timers. */
#include "daemon/loop/loop_private.h"

#include "daemon/loop/clock.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>

struct loop_place {
    const struct room *room;
    void *state;
    struct loop *loop;
    uv_timer_t timer;
};

static struct loop_place *place_of(const struct loop *loop, const struct room *room)
{
    for (size_t i = 0; i < loop->place_count; i++)
        if (loop->places[i].room == room)
            return &loop->places[i];
    assert(false && "a room that is not in the list");
    return NULL;
}

void *loop_room(const struct loop *loop, const struct room *room)
{
    return place_of(loop, room)->state;
}

void loop_hold(struct loop *loop)
{
    loop->holds++;
}

void loop_release(struct loop *loop)
{
    if (--loop->holds == 0)
        loop->end(loop);
}

enum { LOOK_AGAIN_MS = 1 };

static void on_look(uv_timer_t *timer)
{
    const struct loop_place *place = timer->data;
    struct loop *loop = place->loop;
    if (!loop->cluster || loop->trouble[0] || !loop_is_owner(loop))
        return;
    /* The machine's clock was set. The views of the record go by that clock, but the times in the
     * record move only in the next turn. */
    if (clock_was_set())
        loop_look(loop, place->room, LOOK_AGAIN_MS);
    else
        place->room->look(place->state);
}

/* A room may ask during its own look. libuv before 1.48 serves timers as long as a timer is due. A
 * look in 0 ms would be served again and again, and the turn would never come. */
void loop_look(struct loop *loop, const struct room *room, unsigned in_ms)
{
    unsigned first_ms = in_ms > 0 ? in_ms : LOOK_AGAIN_MS;
    /* Fails only when the loop closes. */
    (void)uv_timer_start(&place_of(loop, room)->timer, on_look, first_ms, room->every_ms);
}

static void *state_new(struct loop *loop, size_t size)
{
    struct loop **state = xcalloc(1, size);
    *state = loop;
    return state;
}

void rooms_open(struct loop *loop)
{
    size_t count = 0;
    while (loop->config.rooms[count])
        count++;
    loop->places = xcalloc(count + 1, sizeof *loop->places);
    for (size_t i = 0; i < count; i++) {
        const struct room *room = loop->config.rooms[i];
        struct loop_place *place = &loop->places[loop->place_count++];
        *place = (struct loop_place){.room = room, .loop = loop};
        (void)uv_timer_init(loop->config.uv, &place->timer); /* cannot fail */
        place->timer.data = place;
        loop_hold(loop);
        if (room->look)
            loop_look(loop, room, room->looks_at_once ? 0 : room->every_ms);
        place->state = room->state_size ? state_new(loop, room->state_size) : loop;
    }
}

int rooms_write(struct loop *loop, const struct core_effect *effect, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < loop->place_count && status == 0; i++) {
        const struct loop_place *place = &loop->places[i];
        status = place->room->write ? place->room->write(place->state, effect, err) : 0;
    }
    return status;
}

int rooms_carry(struct loop *loop, const struct core_effect *effect)
{
    const struct loop_place *place = loop->places;
    while (!place->room->carry[effect->kind])
        place++;
    return place->room->carry[effect->kind](place->state, effect);
}

void rooms_turned(struct loop *loop)
{
    for (size_t i = 0; i < loop->place_count; i++)
        if (loop->places[i].room->turned)
            loop->places[i].room->turned(loop->places[i].state);
}

int rooms_answer(struct loop *loop, const struct core_effect *effect,
                 const struct cluster_result *result)
{
    const struct loop_place *place = loop->places;
    while (!place->room->answer[result->kind])
        place++;
    return place->room->answer[result->kind](place->state, effect, result);
}

/* --- The end ---------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    const struct loop_place *place = handle->data;
    loop_release(place->loop);
}

void rooms_close(struct loop *loop)
{
    for (size_t i = loop->place_count; i-- > 0;) {
        struct loop_place *place = &loop->places[i];
        uv_close((uv_handle_t *)&place->timer, on_closed);
        if (place->room->close)
            place->room->close(place->state);
    }
}

void rooms_free(struct loop *loop)
{
    for (size_t i = loop->place_count; i-- > 0;) {
        const struct loop_place *place = &loop->places[i];
        if (place->room->fini)
            place->room->fini(place->state);
        if (place->room->state_size)
            free(place->state);
    }
    free(loop->places);
}
