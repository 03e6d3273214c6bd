/* The last lines of a log of a run, read from the run's own file. */
#ifndef PHASED_CLI_TAIL_H
#define PHASED_CLI_TAIL_H

#include <jansson.h>

struct text;

/* Adds the last lines of the log that tells most of `run`. `logs` is the daemon's answer about
 * them. Nothing where none can be read. */
void tail_write(const json_t *run, const json_t *logs, struct text *text);

#endif
