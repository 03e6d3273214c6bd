/* Matrices and their members, in words. view.h has the table of members. */
#ifndef PHASED_CLI_MEMBERS_H
#define PHASED_CLI_MEMBERS_H

#include <stdbool.h>

#include <jansson.h>

struct text;

/* Whether the phase is a member of a matrix. A list of phases shows the matrix instead. */
bool members_has(const json_t *phase);
/* Whether the phase is a matrix. */
bool members_is_matrix(const json_t *phase);
/* The sums over the members of a matrix, with the same names as a phase has (`attempts`,
 * `gpu_seconds`, ...). Returns the phase itself if it is not a matrix. */
const json_t *members_total(const json_t *phase);

/* How many members of the matrix are in this state. */
long long members_in_state(const json_t *matrix, const char *state);
/* Adds "rung 2 of 3: 150 succeeded, 40 out, 10 blocked". */
void members_note(const json_t *matrix, struct text *text);

/* Adds what the first queued member waits for: "; sweep.1: not submitted yet: ...". `phases` are
 * all phases of the workflow, including the members. */
void members_wait(const json_t *phases, const json_t *matrix, double now, struct text *text);

/* Adds why members are out: a line for each reason, with the number of members and an example. */
void members_reasons(const json_t *matrix, struct text *text);

#endif
