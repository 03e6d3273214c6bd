/* What workers tell, in pushes and in files, and what leads are told. Entries of journals become
 * rows of the record and events for the core. doc/protocol.md specifies the entries.
 *
 * The entries of a node are taken once each and without gaps, by their sequence numbers. An entry
 * and its number are committed together. A run ends only when all entries that its outcome counts
 * are taken.
 *
 * If workers cannot reach the daemon, for example because a site closes TCP between its nodes, a
 * run is silent. The daemon then reads the journals of the run every ten seconds, and writes what
 * it tells the lead to a file in the run's folder, control/command.json. While workers speak for
 * the run, the daemon does neither. */
#ifndef PHASED_DAEMON_INGEST_INGEST_H
#define PHASED_DAEMON_INGEST_INGEST_H

#include "lib/protocol/words.h"

#include <stdint.h>

#include <jansson.h>

struct error;
struct loop;
struct room;
struct run;

extern const struct room ingest_room;

/* --- Journals --------------------------------------------------------------------------------- */

/* A worker of the run has sent a request. */
void ingest_heard(struct loop *loop, uint64_t run);

/* A caller that waits for the commit. */
struct ingest_waiter {
    /* `committed` is the last entry of this node in the record at that time. `failure` is NULL on
     * success. */
    void (*done)(void *context, uint64_t committed, const struct error *failure);
    void *context;
};

/* Takes the list `entries` of the node's journal, in order. Entries that were taken before are
 * skipped. Entries after a gap are not taken. `waiter` is called exactly once, unless this call
 * fails. -EINVAL: the node's name or the list is not valid. */
int ingest_take(struct loop *loop, uint64_t run, const char *node, json_t *entries,
                const struct ingest_waiter *waiter, struct error *err);

/* --- Leads ------------------------------------------------------------------------------------ */

/* What the lead that speaks for this run must do next (lib/protocol/lead_command.h). The lead has
 * obeyed command `after`. `ret_number` 0: nothing to do yet. A new reference. */
json_t *ingest_command(const struct loop *loop, uint64_t run_id, unsigned after,
                       unsigned *ret_number);

/* Sets the one function that is called when commands have changed. `told` NULL: no function. */
void ingest_listen(struct loop *loop, void (*told)(void *context), void *context);

#endif
