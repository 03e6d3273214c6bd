/* The pending effects, in memory. The core has decided them, and they are committed. They must be
 * carried out until their result is in the record. The store has their rows, and loads them at the
 * start. Times are monotonic (clock.h), also the due times of the effects.
 *
 * The kind of an effect and the object that it is about identify a pending effect. A pending effect
 * waits (until it is due, or until the cluster has room), is under way (the cluster has a request),
 * or stands (it was carried out, and is kept until the core says that it is done). */
#ifndef PHASED_DAEMON_LOOP_OUTBOX_H
#define PHASED_DAEMON_LOOP_OUTBOX_H

#include "daemon/core/core.h"
#include "lib/map.h"

enum pending_state { PENDING_WAITING, PENDING_UNDER_WAY, PENDING_STANDING };

struct pending {
    struct core_effect effect;
    enum pending_state state;
    bool is_done;                /* while under way: the core does not need it any more */
    bool again;                  /* while under way: the core wants it once more */
    bool is_doubtful;            /* a submission that may have been carried out before a restart */
    int64_t due_ms;              /* while waiting; 0: at once */
    struct pending *prev, *next; /* while waiting */
};

/* Where pending effects wait. Effects that need a request to the cluster have a line of their own.
 * The cluster may have no room for them, and other effects must not wait behind them. */
enum outbox_line { OUTBOX_CLUSTER, OUTBOX_OWN, OUTBOX_LINES };

struct outbox {
    struct map pending;
    struct pending *first[OUTBOX_LINES], *last[OUTBOX_LINES]; /* in order of due_ms */
};

void outbox_fini(struct outbox *outbox);

/* Takes in an effect of a kept kind. A new effect waits until its due time. An effect that stands
 * waits again. An effect that is done goes away as soon as it is not under way. */
void outbox_apply(struct outbox *outbox, const struct core_effect *effect);

/* The pending effect of that kind for the object with this id: core_effect_target(). NULL: there is
 * no such effect. */
struct pending *outbox_find(const struct outbox *outbox, enum core_effect_kind kind, uint64_t id);
uint64_t pending_id(const struct pending *pending);
/* Whether anything is left to do for the workflow. */
bool outbox_concerns(const struct outbox *outbox, const struct workflow *workflow);

/* The next effect that waits in the line, if it is due at `now_ms`, else NULL. */
struct pending *outbox_due(const struct outbox *outbox, enum outbox_line line, int64_t now_ms);
/* When the next effect is due; INT64_MAX: no effect waits. Effects for the cluster that are due at
 * `now_ms` do not count, because they wait for room. */
int64_t outbox_deadline(const struct outbox *outbox, int64_t now_ms);

/* Moves on an effect that waits: its request is under way, or it was carried out. */
void outbox_begin(struct outbox *outbox, struct pending *pending, enum pending_state state);
/* The cluster has answered the request. The effect now stands, waits again, or is freed. True: it
 * is not freed. */
bool outbox_end(struct outbox *outbox, struct pending *pending);
/* Makes an effect that waits due at once. */
void outbox_move_up(struct outbox *outbox, struct pending *pending);
/* Makes an effect that stands wait until `due_ms`. */
void outbox_retry(struct outbox *outbox, struct pending *pending, int64_t due_ms);

#endif
