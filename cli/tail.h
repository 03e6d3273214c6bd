/* The last lines of a log of a run, read from the file of the run. */
#ifndef PHASED_CLI_TAIL_H
#define PHASED_CLI_TAIL_H

#include <jansson.h>

struct text;

/* Adds the last lines of the log that tells most about `run`. `logs` is the daemon's answer about
 * its logs. Adds nothing if the log cannot be read. */
void tail_write(const json_t *run, const json_t *logs, struct text *text);

#endif
