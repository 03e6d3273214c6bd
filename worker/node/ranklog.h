/* log/rank-N.log: the output of one rank, each line with its time, in bounded space.
 *
 * When the file is full, it is set aside. The first full file becomes rank-N.first.log and stays.
 * Each later full file becomes rank-N.previous.log and replaces the full file before. So the
 * beginning and the newest part always exist, and rank-N.log is the newest. A line that carriage
 * returns overwrite is kept once every few seconds, and in its last form.
 *
 * If the log cannot be written, its lines are lost and counted, and nothing else happens. A line
 * that was written in part stays in the log, and the next line begins on a line of its own. */
#ifndef PHASED_WORKER_NODE_RANKLOG_H
#define PHASED_WORKER_NODE_RANKLOG_H

#include <stddef.h>

struct ranklog;
struct text;

enum {
    RANKLOG_FILE_MAX = 32 * 1024 * 1024,
    RANKLOG_LINE_MAX = 16384,
    RECENT_SIZE_MAX = 256 * 1024,
};

/* Opens folder/rank-<rank>.log for appending. The folder must exist. `size_max` bounds each file; 0
 * means RANKLOG_FILE_MAX. */
struct ranklog *ranklog_open(const char *folder, unsigned rank, size_t size_max);
/* Ends and writes the last line, and closes the file, so that readers on other nodes see all of it.
 * More output opens the file again. */
void ranklog_end(struct ranklog *ranklog);
/* Ends the log, and frees it. Accepts NULL. */
void ranklog_close(struct ranklog *ranklog);

void ranklog_feed(struct ranklog *ranklog, const char *data, size_t size);

/* Returns the last line that is not blank, shortened for a message to people: UTF-8, without
 * control characters. The text is empty if there is no such line. The caller frees it. */
char *ranklog_last_line(const struct ranklog *ranklog);

/* Adds a line to the newest lines, but not to the log. */
void ranklog_note(struct ranklog *ranklog, const char *line);

/* Returns the newest lines with their times, as recent_lines(). An incomplete last line is ended.
 */
const char *ranklog_recent(struct ranklog *ranklog, size_t *ret_size);

/* How many lines could not be written, at least. `ret_reason`, which may be NULL, is the last
 * errno.
 */
unsigned ranklog_lost(const struct ranklog *ranklog, int *ret_reason);

/* --- The newest lines ------------------------------------------------------------------------- */

/* The newest lines of a log are in memory, in a text. They are searched when something has failed.
 * They are not in a file, because a full disk is one of the failures. */

/* Adds whole lines, with their line ends. Removes old lines, so that the text stays small. */
void recent_add(struct text *recent, const char *lines, size_t size);

/* Returns at most RECENT_SIZE_MAX of the newest bytes, from the beginning of a line; borrowed until
 * the next call. Not terminated. */
const char *recent_lines(const struct text *recent, size_t *ret_size);

#endif
