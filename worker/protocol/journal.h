/* The journal of one writer (a node agent or the lead) for one run. The writer puts into it all
 * that it tells the daemon, in order.
 *
 * Each line is one JSON object, `{"seq": 1, "time": ..., "type": ..., ...}`. `seq` counts from 1
 * without gaps. Entries are collected in memory, and journal_flush() writes them. A journal that is
 * opened again continues with the next number. If a crash has cut a line short, this line is ended
 * first, and readers skip the line.
 *
 * No function reports a failure to its caller, because work must continue when the disk is full. An
 * entry that could not be written waits in memory, and the next flush tries again. If too much
 * waits, entries are lost and counted. As soon as there is room, an entry says how many were lost.
 * Lost entries get no number. journal_read() also reads entries that wait because of a failed
 * write, so the daemon learns of them.
 *
 * If somebody else cuts, removes or replaces the file, the next flush notices it. The writer warns,
 * and continues after the remaining entries. journal_read() gives an entry `lost` in the place of
 * missing entries.
 *
 * Readers skip a line with a wrong number, and a warning says so (lib/protocol/journal_order.h).
 *
 * journal_read() and journal_last() may run in another thread than the other functions. */
#ifndef PHASED_WORKER_PROTOCOL_JOURNAL_H
#define PHASED_WORKER_PROTOCOL_JOURNAL_H

#include "lib/protocol/entry.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdint.h>

struct journal;

/* Opens `path`, whose folder must exist. If the file cannot be opened, the journal exists only in
 * memory, and each flush tries again to open the file. If the file can be opened but not read, its
 * newest number is not known, so readers get no entries until a flush has read the file. */
struct journal *journal_open(const char *path);
/* Flushes. Accepts NULL. */
void journal_close(struct journal *journal);

/* Adds an entry. Takes over the reference to `entry->json`. */
void journal_add(struct journal *journal, const struct entry *entry);

/* Adds a warning for people. Bytes of the message that are not UTF-8 are shown as <9B>. */
void journal_warn(struct journal *journal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void journal_warnv(struct journal *journal, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Writes the entries that wait. */
void journal_flush(struct journal *journal);
/* Flushes, and syncs the file, so that readers on other machines find the entries. */
void journal_sync(struct journal *journal);

/* Whether entries wait because the last write failed. They are lost with the journal. */
bool journal_is_behind(struct journal *journal);
/* The number of the newest entry that readers can read; 0: there is no entry. */
uint64_t journal_last(struct journal *journal);

/* Appends the entries after number `after` to `entries`, as members of a JSON list (joined by
 * commas). Stops when `size_max` bytes are exceeded, but appends at least one entry if there is
 * one. Returns the number of the last appended entry, or `after`. */
uint64_t journal_read(struct journal *journal, uint64_t after, size_t size_max,
                      struct text *entries);

#endif
