/* The phases of a workflow as a graph: merges each phase with the phase that it extends, and puts
 * the phases in order.
 *
 * Reports phases that do not exist, cycles, and growth beyond bounds. Keys that a phase lacks
 * because of such a problem are not reported. */
#ifndef PHASED_LIB_SPEC_PHASES_H
#define PHASED_LIB_SPEC_PHASES_H

#include "lib/spec/yaml_node.h"

#include <stdbool.h>
#include <stddef.h>

struct phases_entry {
    const char *name;
    struct yaml_node *written; /* as in the file */
    struct yaml_node *node;    /* with defaults and extends; NULL while it is not known */
    int state;                 /* how far merging is, see phases.c */
    bool lacks_base;           /* its `extends` failed */
    bool lacks_before;         /* its `after` names a phase that does not exist */
    size_t *after;             /* the phases that it waits for, by index */
    size_t after_count;
    const struct phases_entry *beside; /* it shares the allocation of this phase, or NULL */
    /* For lib/spec/matrix.h. A matrix: the places of its members; a member: its matrix. */
    size_t member_first, member_count;
    const char *matrix;
    unsigned number;        /* from 1 */
    struct yaml_node *rung; /* the param that rungs raise, with its first value; NULL: no rungs */
    struct yaml_node
        *axes;       /* the params that the matrix sets; in a matrix, those of its first member */
    bool *is_before; /* for each phase, whether it ends before this one starts */
};

struct phases {
    struct phases_entry *entries; /* in the order of the file */
    size_t count;
    size_t written_count; /* the phases of the file come first, then members */
    size_t *order; /* indices; a phase follows the phases it waits for and the phase beside it */
};

/* Reads the defaults and phases of `root`. Returns -EINVAL when parsing cannot continue;
 * phases_fini() is needed then too. `phases` borrows from the arena. For `is_rehearsal`, see
 * matrix_expand(). */
int phases_init(struct phases *phases, struct yaml_arena *arena, const struct yaml_node *root,
                bool is_rehearsal, struct spec_problems *problems);
void phases_fini(struct phases *phases);

#endif
