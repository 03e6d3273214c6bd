/* What workers tell, from pushes and from the files themselves: entries become rows of the record
 * and events for the core. doc/protocol.md specifies them.
 *
 * Sequence numbers of one node are taken without gaps and once; an entry and its number are
 * committed together. A run ends only when all entries that its outcome counts are taken. */
#ifndef PHASED_DAEMON_LOOP_JOURNAL_H
#define PHASED_DAEMON_LOOP_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct error;
struct loop;
struct run;

/* A worker of the run speaks. */
void journal_heard(struct loop *loop, uint64_t run);

/* Who waits for the commit. */
struct journal_waiter {
    /* `committed` is what the record has of this node then; `failure` is NULL on success. */
    void (*done)(void *arg, uint64_t committed, const struct error *failure);
    void *arg;
};

/* Takes the list `entries` of the node's journal, in order; entries that were taken before are
 * skipped, those after a gap are left. `waiter` may be NULL; it is called exactly once unless this
 * fails: -EINVAL for a node or list that is none, -ENOENT for an unknown run. */
int journal_take(struct loop *loop, uint64_t run, const char *node, json_t *entries,
                 const struct journal_waiter *waiter, struct error *err);

/* Takes what the folder of a run that goes on has and was never pushed. */
void journal_read(struct loop *loop, const struct run *run);

/* Takes what the run's folder has and was never pushed, then its outcome. Posts EV_RUN_ENDED or
 * EV_RUN_SILENT; or else returns false: the outcome counts entries that are not there, and may come
 * yet, as the job may be there, has just ended, or nobody knows. Once it is over for some seconds
 * they are lost. */
bool journal_read_outcome(struct loop *loop, struct run *run);

#endif
