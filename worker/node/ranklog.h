/* log/rank-N.log: what one rank printed, each line with the time before it, in bounded space.
 *
 * When the file has reached its bound it is set aside: the first as rank-N.first.log, kept for
 * ever; later ones as rank-N.previous.log, each replacing the one before. So the beginning and the
 * newest part are always there, and rank-N.log is the newest. A line that carriage returns wrote
 * over is kept once every few seconds, and in its last form.
 *
 * A log that cannot be written costs lines, which are counted, and nothing else. */
#ifndef PHASED_WORKER_NODE_RANKLOG_H
#define PHASED_WORKER_NODE_RANKLOG_H

#include <stddef.h>

struct ranklog;

enum { RANKLOG_FILE_MAX = 32 * 1024 * 1024, RANKLOG_LINE_MAX = 16384 };

/* Opens folder/rank-<rank>.log for appending; the folder is there. `size_max` bounds each file,
 * 0 for RANKLOG_FILE_MAX. */
struct ranklog *ranklog_open(const char *folder, unsigned rank, size_t size_max);
/* Writes what has no line end yet as a line. Accepts NULL. */
void ranklog_close(struct ranklog *ranklog);

void ranklog_feed(struct ranklog *ranklog, const char *data, size_t size);

/* The last line that is not blank, shortened, fit for a message to people: UTF-8, without control
 * characters. Empty when there was none; the caller's to free(). */
char *ranklog_last_line(const struct ranklog *ranklog);

/* Adds a line to the newest ones that does not stand in the log. */
void ranklog_note(struct ranklog *ranklog, const char *line);

/* The newest lines, with their times, as recent_lines(). What has no line end yet is ended. */
const char *ranklog_recent(struct ranklog *ranklog, size_t *ret_size);

/* How many lines could not be written; `ret_reason` (may be NULL) is the errno of the last. */
unsigned ranklog_lost(const struct ranklog *ranklog, int *ret_reason);

#endif
