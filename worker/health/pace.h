/* How fast a node's steps come, and which nodes are slower than others. Pure: both are told the
 * time.
 *
 * Most programs keep their nodes in step, and print on the first one only; then there is nothing to
 * compare. Where the nodes print steps of their own (independent groups, shards, trainers whose
 * every rank prints), a node that makes less than PACE_SLOW of the fastest one's steps, twice in a
 * row, is a straggler. */
#ifndef PHASED_WORKER_HEALTH_PACE_H
#define PHASED_WORKER_HEALTH_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_SLOW 0.75

enum {
    PACE_WINDOW_MS = 10000, /* at least, for comparing; and */
    PACE_STEPS = 5,         /* as many steps */
    PACE_FRESH_MS = 300000, /* an older pace is not compared with */
    PACE_TELL_MAX = 3,      /* times that a node is told of in one run */
};

/* Of one node. Zero-initialised. */
struct pace {
    bool has_begun;
    int64_t first_step, first_ms, step, step_ms;
};

void pace_step(struct pace *pace, int64_t step, int64_t now_ms);
/* Steps, and how long they took. */
struct pace_span {
    int64_t steps;
    double seconds;
};

/* Those since the last time that it gave them; false: it is not yet so long, or too few came. */
bool pace_take(struct pace *pace, int64_t window_ms, struct pace_span *ret_span);

/* Of all nodes, one of these each. Zero-initialised. */
struct pace_node {
    double steps_per_s; /* 0: not told */
    int64_t told_ms;
    bool was_slow, is_straggler;
    unsigned times;
};

/* Takes the pace of node `index`. True when it has become a straggler; then `ret_fastest` is whom
 * it is compared with. */
bool pace_compare(struct pace_node *nodes, unsigned count, unsigned index, double steps_per_s,
                  int64_t now_ms, unsigned *ret_fastest);

#endif
