/* One entry of a journal: its rows in the record, and its event for the core. */
#ifndef PHASED_DAEMON_INGEST_ENTRY_H
#define PHASED_DAEMON_INGEST_ENTRY_H

#include "daemon/core/core.h"
#include "lib/protocol/entry.h"
#include "lib/protocol/outcome.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct loop_item;
struct store;

/* The ids of what the entry is about, for the rows. workflow 0: the workflow is not in memory any
 * more. */
struct entry_origin {
    uint64_t workflow, phase, run;
    const char *node;
};

/* Writes the rows. An entry that cannot be understood, or is more than the record can hold, is
 * recorded as a warning. It is never refused, because a worker could do nothing about that. If it
 * may have been a metric, it counts as lost, too. Fails only if the record fails. `err` may not be
 * NULL. */
int entry_write(const struct entry *entry, const struct entry_origin *origin, struct store *store,
                struct error *err);

/* Fills `ret_event` with borrowed texts, but not the objects. False: the core need not know, for
 * example a single metric. `buffer` is for a message. */
bool entry_event(const struct entry *entry, char buffer[REASON_MAX], struct core_event *ret_event);

/* Does the same for an outcome, from an `ended` entry or from outcome.json: EV_RUN_ENDED. False:
 * this is not an outcome. */
bool entry_outcome(const struct outcome *outcome, struct core_event *ret_event);

/* Makes an item that writes what an outcome says about a failure. The item is posted with the run's
 * end. NULL: the outcome says nothing about a failure. */
struct loop_item *entry_failure_item(const struct run *run, const struct outcome *outcome);

#endif
