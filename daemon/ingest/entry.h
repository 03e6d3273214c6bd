/* One entry of a journal: its rows in the record, and its event for the core. */
#ifndef PHASED_DAEMON_INGEST_ENTRY_H
#define PHASED_DAEMON_INGEST_ENTRY_H

#include "daemon/core/core.h"
#include "lib/protocol/words.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct loop_item;
struct store;

/* Whose entry it is: ids, for the rows. workflow 0: it is not in memory any more. */
struct entry_origin {
    uint64_t workflow, phase, run;
    const char *node;
};

enum { ENTRY_UNKNOWN = ENTRY_TYPE_COUNT };

/* The sequence number; 0 for what is no entry. */
uint64_t entry_sequence(const json_t *entry);
/* Its `step`, from 0 to 2^53; -1: it has none. Also of what is no entry. */
int64_t entry_step(const json_t *json);
/* The first number that the entry stands for: `lost` stands for several, others for one. */
uint64_t entry_first(const json_t *entry);
/* An enum entry_type, or ENTRY_UNKNOWN. */
unsigned entry_type(const json_t *entry);

/* A new entry that says that these entries were lost. */
json_t *entry_lost(uint64_t first, uint64_t last, int64_t time_ms);

/* Writes the rows. What cannot be understood, or is more than the record can hold, is recorded as a
 * warning, never refused: a worker could do nothing about it. Where it may have been a metric it
 * counts as lost, too. Fails only when the record does.
 * `err` may not be NULL. */
int entry_write(const json_t *entry, const struct entry_origin *origin, struct store *store,
                struct error *err);

/* Fills `ret_event` (but for the objects) with borrowed texts. False when the core need not know,
 * as of single metrics. `buffer` is for a message. */
bool entry_event(const json_t *entry, char buffer[REASON_MAX], struct core_event *ret_event);

/* The same for an outcome, of `ended` or of outcome.json: EV_RUN_ENDED. False: it is none. */
bool entry_outcome(const json_t *outcome, struct core_event *ret_event);

/* An item that writes what an outcome says of a failure, for posting with the run's end; NULL: it
 * says nothing. */
struct loop_item *entry_failure_item(const struct run *run, const json_t *outcome);

#endif
