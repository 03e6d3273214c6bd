/* The outbox in memory: what was decided and committed, and must be carried out until its result is
 * in the record. The rows of it are the store's; they are loaded at a start.
 *
 * Times are monotonic (clock.h), also those of its effects.
 *
 * A duty is known by its kind and the object it is for. It waits (until it is due, or until the
 * cluster has room), is under way (a request is with the cluster), or stands (carried out, and kept
 * until the core says that it is done). */
#ifndef PHASED_DAEMON_LOOP_OUTBOX_H
#define PHASED_DAEMON_LOOP_OUTBOX_H

#include "daemon/core/core.h"
#include "lib/map.h"

enum duty_state { DUTY_WAITING, DUTY_UNDER_WAY, DUTY_STANDING };

struct duty {
    struct core_effect effect;
    enum duty_state state;
    bool is_done;             /* while under way: the core does not need it any more */
    bool again;               /* while under way: the core wants it once more */
    int64_t due_ms;           /* of a waiting one; 0: at once */
    struct duty *prev, *next; /* of a waiting one */
};

/* Where duties wait: those that need a request to the cluster, which has room for so many, and
 * those that do not and must not stand behind them. */
enum outbox_line { OUTBOX_CLUSTER, OUTBOX_OWN, OUTBOX_LINES };

struct outbox {
    struct map duties;
    struct duty *first[OUTBOX_LINES], *last[OUTBOX_LINES]; /* in order of due_ms */
};

void outbox_fini(struct outbox *outbox);

/* Takes in an effect of a kept kind: a new duty waits until its due time; one that stands waits
 * again; one that is done goes away, as soon as it is not under way. */
void outbox_apply(struct outbox *outbox, const struct core_effect *effect);

/* The duty of that kind for the object with this id (a job's for SUBMIT, LOOKUP, CANCEL_JOB and
 * BEGIN_JOB, a phase's for JUDGE, a run's else); NULL: none. */
struct duty *outbox_find(const struct outbox *outbox, enum core_effect_kind kind, uint64_t id);
uint64_t duty_id(const struct duty *duty);
/* Whether anything is left to do for the workflow. */
bool outbox_concerns(const struct outbox *outbox, const struct workflow *workflow);

/* The next waiting duty of the line, if it is due at `now_ms`, else NULL. */
struct duty *outbox_due(const struct outbox *outbox, enum outbox_line line, int64_t now_ms);
/* When the next one that is not due at `now_ms` is; INT64_MAX: none waits. */
int64_t outbox_deadline(const struct outbox *outbox, int64_t now_ms);

/* Moves a waiting duty on: a request is under way, or it was carried out. */
void outbox_begin(struct outbox *outbox, struct duty *duty, enum duty_state state);
/* The result of what was under way is there: the duty stands, waits again, or is freed. True when
 * it is still there. */
bool outbox_end(struct outbox *outbox, struct duty *duty);
/* A waiting duty is due at once. */
void outbox_hasten(struct outbox *outbox, struct duty *duty);
/* Lets a duty that stands wait until `due_ms`. */
void outbox_retry(struct outbox *outbox, struct duty *duty, int64_t due_ms);

#endif
