/* Long polls: requests that wait for news, each for at most WAIT_MAX_S. */
#ifndef PHASED_DAEMON_API_WAITERS_H
#define PHASED_DAEMON_API_WAITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct request;

enum { WAIT_MAX_S = 25 }; /* below the idle time-outs of what may lie between */

/* What a request waits for; copied. */
struct waiter {
    struct request *request;
    uint64_t id;    /* of the workflow or run; 0: any */
    uint64_t after; /* what the asker knows already */
    void *context;  /* free()d with the waiter */
};

struct waiters {
    struct waiter_link *first; /* in order of their deadlines */
    uv_timer_t due;
    /* Answers the request if there is news, or, when it `is_over`, in any case. True: answered. */
    bool (*answer)(void *arg, const struct waiter *waiter, bool is_over);
    void *arg;
};

void waiters_init(struct waiters *waiters, uv_loop_t *uv,
                  bool (*answer)(void *arg, const struct waiter *waiter, bool is_over), void *arg);
/* Answers at once, or when there is news or `wait_s` are over; 0: at once in any case. */
void waiters_add(struct waiters *waiters, const struct waiter *waiter, uint64_t wait_s);
/* There may be news. */
void waiters_wake(struct waiters *waiters);
/* Answers all; the timer is closed like any handle. */
void waiters_close(struct waiters *waiters, uv_close_cb closed);

#endif
