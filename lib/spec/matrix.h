/* A phase with `matrix`: many phases, its *members*, and the phase itself, which waits for all
 * members and takes the params of the best.
 *
 * Members are ordinary phases with the names `ladder.1`, `ladder.2` and so on, which no phase of a
 * file can have. The matrix itself never runs. Other phases wait for the matrix and read its
 * params. Until the best member is known, these are the params of the first member. */
#ifndef PHASED_LIB_SPEC_MATRIX_H
#define PHASED_LIB_SPEC_MATRIX_H

#include <stdbool.h>

#include <jansson.h>

struct yaml_arena;
struct phases;
struct phases_entry;
struct scope;
struct spec_problems;

enum {
    MATRIX_MEMBERS_MAX = 500, /* members of one matrix */
    MATRIX_RUNGS_MAX = 16,
};

/* Adds the members of each matrix to the phases, which are merged but not in order yet. In a
 * rehearsal there are no members: the phase itself runs, with the params of its first member. */
void matrix_expand(struct phases *phases, struct yaml_arena *arena, bool is_rehearsal,
                   struct spec_problems *problems);

/* Puts the params of a matrix or member over the params of its node. Does nothing for other
 * phases. */
void matrix_lay(struct yaml_arena *arena, struct phases_entry *entry);

/* Adds `matrix` or `member` to the resolved phase, which has its params. */
void matrix_read(struct scope *scope, const struct phases *phases, const struct phases_entry *entry,
                 json_t *json);

/* Whether the param is one of the matrix. */
bool matrix_sets(const struct phases_entry *entry, const char *param);

#endif
