/* The option `--since` of several verbs. */
#ifndef PHASED_CLI_SINCE_H
#define PHASED_CLI_SINCE_H

#include <time.h>

struct error;

/* Reads a duration until `now` (10m), or a time by the local clock (14:05, 2026-11-01, 2026-11-01
 * 14:05:30), or as logs write it (2026-11-01T12:00:00Z). A time of day is the last one before
 * `now`. */
int since_read(const char *text, time_t now, time_t *ret_since, struct error *err);

#endif
