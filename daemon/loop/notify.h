/* Telling people: notices of the record are carried out by programs of their own, so that nothing
 * waits for them. A notice that cannot be told is tried again, later each time, for a day. */
#ifndef PHASED_DAEMON_LOOP_NOTIFY_H
#define PHASED_DAEMON_LOOP_NOTIFY_H

#include <stdint.h>

#include <uv.h>

struct loop;
struct teller;

enum { NOTIFY_EVERY_MS = 2000, NOTIFY_AT_ONCE_MAX = 4 };

struct notify {
    struct teller *tellers[NOTIFY_AT_ONCE_MAX]; /* under way; NULL: none */
    int64_t look_ms;                            /* when the record is looked at next */
};

/* Begins to tell what is due, when it is time to look. */
void notify_look(struct loop *loop, int64_t now_ms);

/* Ends what is under way, as a part of closing the loop; it is told again after the next start. */
void notify_close(struct loop *loop);

/* When a notice is due again that could not be told `tries` times, this one included. */
int64_t notify_retry_at(int64_t now_ms, unsigned tries);

#endif
