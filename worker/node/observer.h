/* What a node's agent observes of a run: metrics in the output of the first rank or in a file, what
 * scripts tell through the channel, checkpoints, the GPUs, and the guards on all that. It ends in
 * the journal; what must stop the run is told to the owner.
 *
 * Checkpoints and metrics in the output are the first node's business (of the others only steps are
 * noted); the channel is every node's. */
#ifndef PHASED_WORKER_NODE_OBSERVER_H
#define PHASED_WORKER_NODE_OBSERVER_H

#include "worker/node/checkpoints.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct assignment;
struct environment;
struct error;
struct gpu_second;
struct journal;
struct observer;

enum observer_stop_cause { OBSERVER_STOP_GUARD, OBSERVER_STOP_NAN, OBSERVER_STOP_UNTIL };

/* All borrowed until observer_free(). */
struct observer_options {
    uv_loop_t *loop;
    const char *program; /* path of phase-worker */
    const struct assignment *assignment;
    const struct environment *environment; /* for $PHASED_ in paths */
    struct journal *journal;
    bool is_first_node;
    const char *channel;
    /* The run must stop. `verdict` is a guard's, or NULL; borrowed during the call. */
    void (*stop)(void *context, enum observer_stop_cause cause, const char *message,
                 json_t *verdict);
    /* The driver told of a fault of a GPU. */
    void (*fault)(void *context, const char *line);
    /* The journal holds something that the daemon should know at once. */
    void (*urgent)(void *context);
    void *context;
};

/* Before the ranks start: what is there now in checkpoints and metrics files is an earlier run's.
 */
int observer_new(const struct observer_options *options, struct observer **ret_observer,
                 struct error *err);
void observer_free(struct observer *observer);

/* What the first rank of this node printed. */
void observer_feed(struct observer *observer, const char *data, size_t size);

/* What this node's GPUs did in the newest second; NULL where that is not known. Borrowed until the
 * loop goes on. */
const struct gpu_second *observer_gpus(const struct observer *observer);

/* Looks at files, judges guards, writes the journal. Called a few times a second. */
void observer_look(struct observer *observer);

enum observer_fate {
    OBSERVER_ENDED_WELL,
    OBSERVER_ENDED_BADLY, /* ranks failed or were cut off: the GPUs' last seconds are told too */
};

/* All processes of this node have ended: the same once more, with what had no line end yet. */
void observer_look_last(struct observer *observer, enum observer_fate fate);

/* A guard has failed, here or on another node, or NaN came: checkpoints of step `since` and later,
 * and all that are saved from now on, are told as suspect. */
void observer_suspect(struct observer *observer, int64_t since);
bool observer_is_suspect(const struct observer *observer);

/* The groups have ended, and what joins their results begins: metrics may come of that alone, so
 * that before it none is said to be missing. */
void observer_join(struct observer *observer);

/* All processes of the run have ended: the last look at checkpoints. */
void observer_end(struct observer *observer, enum checkpoints_end end);

/* Grows with each row of metrics and each checkpoint, also one that is still being written. */
uint64_t observer_signs(const struct observer *observer);
/* False when no metric came with a step. */
bool observer_last_step(const struct observer *observer, int64_t *ret_step);
/* The same, also of a node that is not read for metrics, where its first rank prints steps. */
bool observer_newest_step(const struct observer *observer, int64_t *ret_step);
/* The step of the newest whole checkpoint. False when there was none. */
bool observer_saved_step(const struct observer *observer, int64_t *ret_step);

#endif
