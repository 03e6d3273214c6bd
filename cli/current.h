/* The phase that stands for its workflow in lists of workflows. */
#ifndef PHASED_CLI_CURRENT_H
#define PHASED_CLI_CURRENT_H

#include "cli/terminal.h"

#include <jansson.h>

struct table;

/* The first phase that has begun and not ended, else the first that has not ended, else the last.
 */
const json_t *current_phase(const json_t *workflow);

/* Adds the cells of a workflow: its number in this colour, its name, `state`, its phase with step
 * and time left, `bar` unless that is NULL, its age, GPU time, cost and note. */
void current_add_row(struct table *table, const json_t *workflow, enum colour colour,
                     const char *state, const char *bar, double now);

#endif
