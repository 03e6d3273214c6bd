/* Checkpoints that are suspect, in words: saved when a guard had failed or NaN had come, and not
 * gone on from but by a person's choice. */
#ifndef PHASED_CLI_SUSPECT_H
#define PHASED_CLI_SUSPECT_H

#include <stdbool.h>

#include <jansson.h>

struct text;

bool suspect_has(const json_t *phase);

/* "steps 30, 40: saved when a guard had failed or NaN had come"; nothing when there is none. */
void suspect_note(const json_t *phase, struct text *text);

/* The same for `why`, in a line of its own, with the last good one. */
void suspect_explain(const json_t *phase, struct text *text);

/* "--from 20", the last good checkpoint of a phase that has suspect ones; "" when none is good. */
const char *suspect_option(const json_t *phase, char *buffer, size_t size);

#endif
