/* Which lines of a log are wanted. Each line begins with the time at which it was printed
 * (lib/clock.h); what a program printed follows. */
#ifndef PHASED_CLI_LOGS_LINES_H
#define PHASED_CLI_LOGS_LINES_H

#include "lib/clock.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct error;

struct lines_filter {
    char since[CLOCK_STAMP_SIZE]; /* lines from this time on, without the space; empty: all */
    bool has_pattern;
    regex_t pattern; /* what a line must match after its time */
};

/* Reads `--since`: lines from this time on (cli/options.h). */
int lines_since(struct lines_filter *filter, const char *text, time_t now, struct error *err);

/* Reads `--grep`: an extended regular expression, as `grep -E` takes it. */
int lines_grep(struct lines_filter *filter, const char *text, struct error *err);

void lines_filter_fini(struct lines_filter *filter);

/* Whether the line is wanted. The line comes without its end. A line without a time is never too
 * old. */
bool lines_pass(const struct lines_filter *filter, const char *line, size_t size);

#endif
