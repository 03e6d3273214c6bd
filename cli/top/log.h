/* The lines of a log that grows. The beginning of a very long log is not kept. */
#ifndef PHASED_CLI_TOP_LOG_H
#define PHASED_CLI_TOP_LOG_H

#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>

struct log {
    char *path;        /* NULL: no log is open */
    long long rank;    /* whose output it is */
    struct text bytes; /* the newest bytes of the file */
    long long begin;   /* where in the file they begin */
    size_t *starts;    /* where the lines begin in `bytes` */
    size_t count, capacity;
    bool is_read;  /* the newest reading has come to the end */
    double read_s; /* when that was, in steady time */
};

/* Begins with another file, or with no file. */
void log_open(struct log *log, const char *path, long long rank);
void log_close(struct log *log);

/* Adds bytes that begin at `offset` of the file. Bytes from before the end mean that the file was
 * begun anew. Returns how many lines were given up at the beginning. */
size_t log_add(struct log *log, long long offset, const char *bytes, size_t size);

/* Where to go on reading; negative: begin with the tail. */
long long log_offset(const struct log *log);

/* Adds the time of day of a line, and the line as a terminal would show it, without colours and
 * control characters. Of a progress bar, adds the newest state. */
void log_shown_line(const struct log *log, size_t line, struct text *text);

#endif
