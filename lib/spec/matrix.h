/* A phase with `matrix`: many small phases, its *members*, and itself, which waits for them all and
 * takes over the params of the best.
 *
 * Members are phases like others, named `ladder.1`, `ladder.2`, ...: no phase of a file can be
 * called so. The matrix stays as a phase that never runs: others wait for it and read its params,
 * which are those of its first member until the best is known. */
#ifndef PHASED_LIB_SPEC_MATRIX_H
#define PHASED_LIB_SPEC_MATRIX_H

#include <stdbool.h>

#include <jansson.h>

struct node_arena;
struct phases;
struct phases_entry;
struct scope;
struct spec_problems;

enum {
    MATRIX_MEMBERS_MAX = 500, /* of one matrix */
    MATRIX_RUNGS_MAX = 16,
};

/* Adds the members of each matrix to the phases, which are merged but not in order yet. In a
 * rehearsal there are none: the phase itself runs, as its first member would. */
void matrix_expand(struct phases *phases, struct node_arena *arena, bool is_rehearsal,
                   struct spec_problems *problems);

/* Puts the params of a matrix or member over those of its node; for others there is nothing to do.
 */
void matrix_lay(struct node_arena *arena, struct phases_entry *entry);

/* Adds `matrix` or `member` to the resolved phase, which has its params. */
void matrix_read(struct scope *scope, const struct phases *phases, const struct phases_entry *entry,
                 json_t *json);

/* Whether the matrix or member goes through values of this param. */
bool matrix_sets(const struct phases_entry *entry, const char *param);

#endif
