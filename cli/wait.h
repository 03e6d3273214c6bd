/* What a run waits for, in words. */
#ifndef PHASED_CLI_WAIT_H
#define PHASED_CLI_WAIT_H

#include <jansson.h>
#include <stdbool.h>

struct text;

/* Adds why the job of a run does not run: it is not submitted yet, waits in Slurm, or Slurm does
 * not know it. Returns false if no reason is known. `run` may be null; `now` is seconds since 1970.
 */
bool wait_write(const json_t *run, double now, struct text *text);
/* The same for a phase, followed by the reason of the phase: that is why its run is not the first
 * one, and must not hide what the run waits for now. */
bool wait_write_phase(const json_t *phase, double now, struct text *text);

#endif
