/* The preflight of one node before a run: starts phase-preflight, in a session of its own, and
 * waits for what it says, for so long and no longer.
 *
 * It has an answer in any case: a program that cannot be started, that ends without a report or
 * not in time has not told, which is no failure of the node. Memory and processes that a run before
 * has left on a GPU may be gone a moment later, as drivers give them back with a delay: where
 * nothing else fails it looks again. */
#ifndef PHASED_WORKER_NODE_NODECHECK_H
#define PHASED_WORKER_NODE_NODECHECK_H

#include <jansson.h>
#include <uv.h>

struct nodecheck;

struct assignment;

/* Borrowed until it is closed. */
struct nodecheck_options {
    uv_loop_t *loop;
    const struct assignment *assignment; /* with a level of preflight */
    unsigned node_index;
    /* Once, and not before nodecheck_start() has returned, with a new reference: what
     * nodecheck_report() makes, and `seconds`. */
    void (*done)(void *context, json_t *report);
    void *context;
};

struct nodecheck *nodecheck_start(const struct nodecheck_options *options);

/* Takes the ends of children, all of which are the preflight's: call it at each SIGCHLD. */
void nodecheck_reap(struct nodecheck *check);

/* Kills what runs, without a word. Frees it in the loop, once its handles are closed. Accepts NULL.
 */
void nodecheck_close(struct nodecheck *check);

#endif
