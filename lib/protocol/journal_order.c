/* Puts entries in order. */
#include "lib/protocol/journal_order.h"

#include <assert.h>
#include <string.h>

static void order_drop(const struct journal_order *order, void *item)
{
    if (order->drop)
        order->drop(item);
}

/* An entry with a wrong number may have the number of another entry. The entry in its right place
 * counts. */
static void order_add_again(struct journal_order *order, struct journal_early *early, void *item)
{
    if (!early->is_overtaken) {
        order_drop(order, item);
        return;
    }
    order_drop(order, early->item);
    order->stray = early->number;
    early->item = item;
    early->is_overtaken = false;
}

void journal_order_add(struct journal_order *order, uint64_t number, void *item)
{
    size_t at = order->count;
    if (number <= order->last) {
        order_drop(order, item);
        return;
    }
    while (at > 0 && order->early[at - 1].number > number)
        order->early[--at].is_overtaken = true;
    if (at > 0 && order->early[at - 1].number == number) {
        order_add_again(order, &order->early[at - 1], item);
        return;
    }
    assert(order->count < JOURNAL_ORDER_MAX);
    memmove(&order->early[at + 1], &order->early[at], (order->count - at) * sizeof *order->early);
    order->early[at] = (struct journal_early){.number = number, .item = item};
    order->count++;
}

static struct journal_early order_take_first(struct journal_order *order)
{
    struct journal_early first = order->early[0];
    order->count--;
    memmove(&order->early[0], &order->early[1], order->count * sizeof *order->early);
    return first;
}

bool journal_order_next(struct journal_order *order, bool is_end, uint64_t *ret_number,
                        void **ret_item)
{
    while (order->count > 0) {
        const struct journal_early *first = &order->early[0];
        bool is_next = first->number == order->last + 1;
        /* After an overtaken entry, the right entry with this number may still come. */
        bool is_sure = is_next && (!first->is_overtaken || order->count > 1);
        if (!is_sure && !is_end && order->count < JOURNAL_ORDER_MAX)
            return false;
        struct journal_early taken = order_take_first(order);
        if (!is_next && taken.is_overtaken) {
            order->stray = taken.number;
            order_drop(order, taken.item);
            continue;
        }
        order->last = *ret_number = taken.number;
        *ret_item = taken.item;
        return true;
    }
    return false;
}

void journal_order_fini(struct journal_order *order)
{
    for (size_t i = 0; i < order->count; i++)
        order_drop(order, order->early[i].item);
    order->count = 0;
}
