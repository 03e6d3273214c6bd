/* What workers tell, from pushes and from files, and what leads are told. Entries of journals
 * become rows of the record and events for the core. doc/protocol.md specifies them.
 *
 * Sequence numbers of one node are taken without gaps and once; an entry and its number are
 * committed together. A run ends only when all entries that its outcome counts are taken.
 *
 * Where workers do not reach the daemon, as where a site closes TCP between its nodes, a run is
 * silent. Its journals are read every ten seconds, and what its lead is told lies in a file:
 * control/command.json in the run's folder. Both are left alone while workers speak for the run. */
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

/* A worker of the run speaks. */
void ingest_heard(struct loop *loop, uint64_t run);

/* Who waits for the commit. */
struct ingest_waiter {
    /* `committed` is what the record has of this node then; `failure` is NULL on success. */
    void (*done)(void *arg, uint64_t committed, const struct error *failure);
    void *arg;
};

/* Takes the list `entries` of the node's journal, in order; entries that were taken before are
 * skipped, those after a gap are left. `waiter` is called exactly once unless this fails: -EINVAL
 * for a node or list that is none. */
int ingest_take(struct loop *loop, uint64_t run, const char *node, json_t *entries,
                const struct ingest_waiter *waiter, struct error *err);

/* --- Leads ------------------------------------------------------------------------------------ */

/* What the lead that speaks for this run is to do, having obeyed command `after`. */
struct lead_command {
    unsigned number; /* 0: nothing yet */
    enum lead_verb verb;
    enum stop_reason why; /* of STOP */
    const struct run *to; /* of NEXT; borrowed until the next turn */
};
struct lead_command lead_command(const struct loop *loop, uint64_t run_id, unsigned after);
/* As doc/protocol.md has it; a new reference. */
json_t *lead_command_json(const struct loop *loop, const struct lead_command *command);

/* Who is called when commands have changed; at most one. `told` NULL: nobody. */
void ingest_listen(struct loop *loop, void (*told)(void *arg), void *arg);

#endif
