/* Long polls: requests that wait for news, each for at most WAIT_MAX_S. */
#ifndef PHASED_DAEMON_API_WAITERS_H
#define PHASED_DAEMON_API_WAITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct request;

enum { WAIT_MAX_S = 25 }; /* less than the idle time-outs of proxies */

/* What a request waits for. waiters_add() copies it. */
struct waiter {
    struct request *request;
    uint64_t id;    /* the workflow or run; 0: any */
    uint64_t after; /* what the client knows already */
    void *context;  /* free()d with the waiter */
};

struct waiters {
    struct waiter_link *first; /* in the order of their deadlines */
    uv_timer_t due;
    /* Answers the request if there is news. If `is_over`, answers in any case. True: answered. */
    bool (*answer)(void *context, const struct waiter *waiter, bool is_over);
    void *context;
};

void waiters_init(struct waiters *waiters, uv_loop_t *uv,
                  bool (*answer)(void *context, const struct waiter *waiter, bool is_over),
                  void *context);
/* Answers when there is news, or after `wait_s`. With `wait_s` 0 it answers at once. */
void waiters_add(struct waiters *waiters, const struct waiter *waiter, uint64_t wait_s);
/* Asks all waiters again: there may be news. */
void waiters_wake(struct waiters *waiters);
/* Answers all waiters and closes the timer, as any handle is closed. */
void waiters_close(struct waiters *waiters, uv_close_cb closed);

#endif
