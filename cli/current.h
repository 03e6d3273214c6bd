/* The current phase of a workflow: lists of workflows show it. */
#ifndef PHASED_CLI_CURRENT_H
#define PHASED_CLI_CURRENT_H

#include "cli/terminal.h"

#include <jansson.h>

struct table;

/* The first phase that is held, else the first that is at work, else the first that is queued, else
 * the first that is blocked, else the last. Members of a sweep do not count. */
const json_t *current_phase(const json_t *workflow);

/* The state to show of a workflow: if it is live, the state of its current phase. */
const char *current_state(const json_t *workflow);

/* Adds the cells of a workflow: its number in this colour, its name, its state, its phase with step
 * and time left, `bar` unless that is NULL, its age, GPU time, cost and note. */
void current_add_row(struct table *table, const json_t *workflow, enum colour colour,
                     const char *bar, double now);

#endif
