/* The phase that stands for its workflow in lists of workflows. */
#ifndef PHASED_CLI_CURRENT_H
#define PHASED_CLI_CURRENT_H

#include <jansson.h>

struct text;

/* The first phase that has begun and not ended, else the first that has not ended, else the last.
 */
const json_t *current_phase(const json_t *workflow);

/* Adds why that phase is in its state. May add nothing. `now` is seconds since 1970. */
void current_note(const json_t *workflow, const json_t *phase, double now, struct text *text);

#endif
