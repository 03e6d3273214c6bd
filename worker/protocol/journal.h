/* The journal of one writer (a node agent or the lead) for one run: what it has to tell, in order.
 *
 * One JSON object a line, `{"seq": 1, "time": ..., "type": ..., ...}`; seq counts from 1 without
 * gaps. Entries are collected in memory and written by journal_flush(). A journal that is opened
 * again goes on with the next number; a line that a crash cut short is ended first, and readers
 * skip it.
 *
 * Nothing here fails towards the caller: work must go on when the disk is full. What could not be
 * written waits in memory and is tried again at the next flush; when too much waits, entries are
 * lost, counted, and the count is an entry of its own as soon as there is room. Lost entries get
 * no number. Entries that wait because of a failed write can be read by journal_read(), so the
 * daemon learns of them all the same.
 *
 * Whoever else cuts, removes or replaces the file is noticed at the next flush: the writer goes on
 * behind what is left with a warning, and journal_read() has an entry `lost` in the place of
 * entries that are missing.
 *
 * A line in the file with a wrong number is passed over, with a warning
 * (lib/protocol/journal_order.h).
 *
 * journal_read() and journal_last() may be called from another thread than the rest. */
#ifndef PHASED_WORKER_PROTOCOL_JOURNAL_H
#define PHASED_WORKER_PROTOCOL_JOURNAL_H

#include "lib/protocol/words.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct journal;

/* Opens `path`, whose folder is there. When that cannot be done the journal exists in memory, and
 * opening is tried again at each flush. */
struct journal *journal_open(const char *path);
/* Flushes. Accepts NULL. */
void journal_close(struct journal *journal);

/* Adds an entry with these members, an object whose reference is taken over; NULL for none. */
void journal_add(struct journal *journal, enum entry_type type, json_t *members);

/* Adds a warning for people. Bytes of the message that are not UTF-8 are spelled out. */
void journal_warn(struct journal *journal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void journal_warnv(struct journal *journal, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Writes what waits. */
void journal_flush(struct journal *journal);
/* Flushes, and sees to it that readers on other machines find what is written. */
void journal_sync(struct journal *journal);

/* The number of the newest entry that readers can read; 0 for none. */
uint64_t journal_last(struct journal *journal);

/* Appends to `entries` the entries after number `after`, as members of a JSON list (joined by
 * commas), until `size_max` bytes are exceeded; at least one if there is one. Returns the number of
 * the last one read, or `after`. */
uint64_t journal_read(struct journal *journal, uint64_t after, size_t size_max,
                      struct text *entries);

#endif
