/* How matrices look: one line among the phases, and a table of members where one asks for it. */
#ifndef PHASED_CLI_MEMBERS_H
#define PHASED_CLI_MEMBERS_H

#include <stdbool.h>

#include <jansson.h>

struct terminal;
struct text;

/* Whether the phase is a member of a matrix: where phases are listed its matrix speaks for it. */
bool members_has(const json_t *phase);
/* Whether the phase is a matrix. */
bool members_is_matrix(const json_t *phase);
/* What the members of a matrix come to, with the names of a phase (`attempts`, `gpu_seconds`, ...);
 * of other phases the phase itself. */
const json_t *members_total(const json_t *phase);

/* A table of the members of a matrix, the best first. */
void members_write(const struct terminal *terminal, const json_t *matrix, struct text *text);

#endif
