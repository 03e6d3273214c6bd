/* The preflight of one node before a run. This module starts phase-preflight in a session of its
 * own, and waits for its report until a deadline.
 *
 * There is always an answer. If the program cannot be started, ends without a report or is late,
 * the outcome is "could not tell", which is not a failure of the node. Drivers free the memory and
 * the processes of an earlier run with a delay. So if only such leftovers speak against the node,
 * the preflight is tried again. */
#ifndef PHASED_WORKER_NODE_NODECHECK_H
#define PHASED_WORKER_NODE_NODECHECK_H

#include <jansson.h>
#include <uv.h>

struct nodecheck;

struct assignment;
struct entry;

/* All members are borrowed until the check is closed. */
struct nodecheck_options {
    uv_loop_t *loop;
    const struct assignment *assignment; /* has a level of preflight */
    unsigned node_index;
    /* Called once, after nodecheck_start() has returned, with the entry for the journal. */
    void (*done)(void *context, const struct entry *entry);
    void *context;
};

struct nodecheck *nodecheck_start(const struct nodecheck_options *options);

/* Reaps children. All children belong to the preflight. Call it at each SIGCHLD. */
void nodecheck_reap(struct nodecheck *check);

/* Kills the preflight, without a report. Frees the check in the loop when its handles are closed.
 * Accepts NULL. */
void nodecheck_close(struct nodecheck *check);

#endif
