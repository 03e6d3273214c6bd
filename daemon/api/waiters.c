/* The list is sorted by deadline, so that one timer suffices. */
#include "daemon/api/waiters.h"

#include "lib/memory.h"

#include <stdlib.h>

struct waiter_link {
    struct waiter_link *next;
    struct waiter waiter;
    uint64_t due_ms; /* on the loop's clock */
};

static void on_due(uv_timer_t *timer);

static void set_timer(struct waiters *waiters)
{
    uint64_t now_ms = uv_now(waiters->due.loop);
    if (!waiters->first)
        (void)uv_timer_stop(&waiters->due);
    else
        (void)uv_timer_start(&waiters->due, on_due,
                             waiters->first->due_ms > now_ms ? waiters->first->due_ms - now_ms : 0,
                             0);
}

/* Asks each waiter. A waiter whose deadline is `over_ms` or earlier is answered in any case. */
static void visit(struct waiters *waiters, uint64_t over_ms)
{
    struct waiter_link **at = &waiters->first, *link;
    while ((link = *at)) {
        if (!waiters->answer(waiters->context, &link->waiter, link->due_ms <= over_ms)) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        free(link->waiter.context);
        free(link);
    }
}

static void on_due(uv_timer_t *timer)
{
    struct waiters *waiters = timer->data;
    visit(waiters, uv_now(timer->loop));
    set_timer(waiters);
}

void waiters_init(struct waiters *waiters, uv_loop_t *uv,
                  bool (*answer)(void *context, const struct waiter *waiter, bool is_over),
                  void *context)
{
    *waiters = (struct waiters){.answer = answer, .context = context};
    (void)uv_timer_init(uv, &waiters->due); /* cannot fail */
    waiters->due.data = waiters;
}

void waiters_add(struct waiters *waiters, const struct waiter *waiter, uint64_t wait_s)
{
    if (waiters->answer(waiters->context, waiter, wait_s == 0)) {
        free(waiter->context);
        return;
    }
    struct waiter_link *link = xcalloc(1, sizeof *link), **at = &waiters->first;
    link->waiter = *waiter;
    link->due_ms = uv_now(waiters->due.loop) + wait_s * 1000;
    while (*at && (*at)->due_ms <= link->due_ms)
        at = &(*at)->next;
    link->next = *at;
    *at = link;
    set_timer(waiters);
}

void waiters_wake(struct waiters *waiters)
{
    visit(waiters, 0);
    set_timer(waiters);
}

void waiters_close(struct waiters *waiters, uv_close_cb closed)
{
    visit(waiters, UINT64_MAX);
    uv_close((uv_handle_t *)&waiters->due, closed);
}
