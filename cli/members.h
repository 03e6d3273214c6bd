/* How matrices look: one line among the phases, and a table of members where one asks for it. */
#ifndef PHASED_CLI_MEMBERS_H
#define PHASED_CLI_MEMBERS_H

#include <stdbool.h>

#include <jansson.h>

struct text;

/* Whether the phase is a member of a matrix: where phases are listed its matrix speaks for it. */
bool members_has(const json_t *phase);
/* Whether the phase is a matrix. */
bool members_is_matrix(const json_t *phase);
/* What the members of a matrix come to, with the names of a phase (`attempts`, `gpu_seconds`, ...);
 * of other phases the phase itself. */
const json_t *members_total(const json_t *phase);

/* How many of its members are in this state. */
long long members_in_state(const json_t *matrix, const char *state);
/* Adds "rung 2 of 3: 150 succeeded, 40 out, 10 blocked". */
void members_note(const json_t *matrix, struct text *text);

/* Adds "; sweep.1: not submitted yet: ...": what the first of the members that are queued waits
 * for, or nothing. `phases` are those of the workflow, the members among them. */
void members_wait(const json_t *phases, const json_t *matrix, double now, struct text *text);

/* Adds why members are out, a line a reason with how many there are and one that has it. */
void members_reasons(const json_t *matrix, struct text *text);

#endif
