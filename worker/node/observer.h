/* What the agent of a node observes of a run: metrics in the output of the first rank or in a file,
 * lines of the channel, checkpoints, the GPUs, and guards on all these. The observations go into
 * the journal. The agent is told when the run must stop.
 *
 * Only the first node reads checkpoints and metrics in the output; other nodes read only steps.
 * Each node reads its channel. */
#ifndef PHASED_WORKER_NODE_OBSERVER_H
#define PHASED_WORKER_NODE_OBSERVER_H

#include "lib/protocol/words.h"
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

/* All members are borrowed until observer_free(). */
struct observer_options {
    uv_loop_t *loop;
    const char *program; /* path of phase-worker */
    const struct assignment *assignment;
    const struct environment *environment; /* for $PHASED_ in paths */
    struct journal *journal;
    bool is_first_node;
    const char *channel;
    /* The run must stop. `verdict` is the verdict of a guard, or NULL; borrowed during the call. */
    void (*stop)(void *context, enum stop_reason cause, const char *message, json_t *verdict);
    /* The driver has reported a fault of a GPU. */
    void (*fault)(void *context, const char *line);
    /* The journal has something to write out, which the daemon should know at once. */
    void (*urgent)(void *context);
    void *context;
};

/* Call it before the ranks start: present checkpoints and metrics files then belong to an earlier
 * run. */
int observer_new(const struct observer_options *options, struct observer **ret_observer,
                 struct error *err);
void observer_free(struct observer *observer);

/* The first rank of this node has printed this. */
void observer_feed(struct observer *observer, const char *data, size_t size);

/* Returns what the GPUs of this node did in the newest second, or NULL. Borrowed until the loop
 * continues. */
const struct gpu_second *observer_gpus(const struct observer *observer);

/* Looks at files, judges guards, writes the journal. Call it a few times a second. */
void observer_look(struct observer *observer);

enum observer_fate {
    OBSERVER_ENDED_WELL,
    OBSERVER_ENDED_BADLY, /* the last seconds of the GPUs are journaled, too */
};

/* All processes of this node have ended, or those of all nodes. Looks once more; an incomplete last
 * line counts, too. */
void observer_look_last(struct observer *observer, enum observer_fate fate);

/* A guard has failed here or on another node, or NaN came. Checkpoints of step `since` and later,
 * and all that are saved from now on, are reported as suspect. */
void observer_suspect(struct observer *observer, int64_t since);
bool observer_is_suspect(const struct observer *observer);

/* The groups have ended and the join of their output begins, or the ranks of all nodes have ended.
 * The join, or a rank of another node, may be the only process that tells metrics. So the
 * report of metrics that are missing at the end comes only after this call. */
void observer_all_ended(struct observer *observer);

/* All processes of the run have ended. Takes the last look at checkpoints. */
void observer_end(struct observer *observer, enum checkpoints_end end);

/* Grows with each row of metrics and each checkpoint, also while a checkpoint is being written. */
uint64_t observer_signs(const struct observer *observer);
/* The highest step of the run: a program may print steps of its evaluation after steps of its
 * training. False: no metric came with a step. */
bool observer_last_step(const struct observer *observer, int64_t *ret_step);
/* The step that was printed last, also for a node that does not read metrics but whose first rank
 * prints steps. */
bool observer_newest_step(const struct observer *observer, int64_t *ret_step);
/* The step of the newest whole checkpoint. False: no checkpoint is whole. */
bool observer_saved_step(const struct observer *observer, int64_t *ret_step);

#endif
