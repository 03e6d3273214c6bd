/* Suspect checkpoints, in words: checkpoints that were saved after a guard had failed or NaN had
 * come. No run resumes from them unless a person says so. */
#ifndef PHASED_CLI_SUSPECT_H
#define PHASED_CLI_SUSPECT_H

#include <stdbool.h>

#include <jansson.h>

struct text;

bool suspect_has(const json_t *phase);

/* Adds "steps 30, 40: saved after a guard had failed or NaN had come". Adds nothing if no
 * checkpoint is suspect. */
void suspect_note(const json_t *phase, struct text *text);

/* Adds a line for `why`: the suspect checkpoints and the last good one. */
void suspect_explain(const json_t *phase, struct text *text);

/* Writes the option that resumes from the last good checkpoint, "--from 20", into `buffer` and
 * returns it; "" if no checkpoint is good. */
const char *suspect_option(const json_t *phase, char *buffer, size_t size);

#endif
