/* What a run waits for, in words. */
#ifndef PHASED_CLI_WAIT_H
#define PHASED_CLI_WAIT_H

#include <jansson.h>
#include <stdbool.h>

struct text;

/* Why its job does not run: it is not submitted yet, Slurm lets it wait, or does not know it.
 * False, and nothing, when there is no such reason. `run` may be null; `now` is seconds since 1970.
 */
bool wait_write(const json_t *run, double now, struct text *text);
/* The same of a phase whose run is not submitted yet, with what came before that. */
bool wait_write_new(const json_t *phase, double now, struct text *text);

#endif
