/* How fast the steps of a node come, and which nodes are slower than others. This module is pure:
 * the caller gives the time.
 *
 * Most programs keep their nodes in step and print only on the first node. Then nothing is
 * compared. If each node prints its own steps (independent groups, shards, trainers whose every
 * rank prints), a node may be a straggler. A straggler makes less than PACE_SLOW of the steps of
 * the fastest node, twice in a row. */
#ifndef PHASED_WORKER_HEALTH_PACE_H
#define PHASED_WORKER_HEALTH_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_SLOW 0.75

enum {
    PACE_WINDOW_MS = 10000, /* a comparison needs at least this time */
    PACE_STEPS = 5,         /* and at least this many steps */
    PACE_FRESH_MS = 300000, /* an older pace is not compared */
    PACE_TELL_MAX = 3,      /* reports of one node in one run */
};

/* The pace of one node. Zero-initialised. */
struct pace {
    bool has_begun;
    int64_t first_step, first_ms, step, step_ms;
};

void pace_step(struct pace *pace, int64_t step, int64_t now_ms);
/* Steps, and the time that they took. */
struct pace_span {
    int64_t steps;
    double seconds;
};

/* Returns the steps since the last span. False: the time is too short, or there are too few steps.
 */
bool pace_take(struct pace *pace, int64_t window_ms, struct pace_span *ret_span);

/* One of these for each node. Zero-initialised. */
struct pace_node {
    double steps_per_s; /* 0: unknown */
    int64_t told_ms;
    bool was_slow, is_straggler;
    unsigned times;
};

/* Takes the pace of node `index`. Returns true if the node has become a straggler. `ret_fastest` is
 * then the node that it was compared with. */
bool pace_compare(struct pace_node *nodes, unsigned count, unsigned index, double steps_per_s,
                  int64_t now_ms, unsigned *ret_fastest);

#endif
