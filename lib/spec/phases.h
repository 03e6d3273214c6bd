/* The phases of a workflow as a graph: what each extends, merged; which each waits for, in order.
 *
 * Reports phases that are not there, cycles, and growth beyond bounds. What a phase misses because
 * of such a problem is no problem of its own. */
#ifndef PHASED_LIB_SPEC_PHASES_H
#define PHASED_LIB_SPEC_PHASES_H

#include "lib/spec/node.h"

#include <stdbool.h>
#include <stddef.h>

struct phases_entry {
    const char *name;
    struct node *written; /* as in the file */
    struct node *node;    /* with defaults and extends; NULL while it is not known */
    int state;            /* of merging, see phases.c */
    bool lacks_base;      /* its `extends` failed */
    bool lacks_before;    /* its `after` names a phase that is not there */
    size_t *after;        /* the phases that it waits for, by index */
    size_t after_count;
    const struct phases_entry *beside; /* whose allocation it shares; NULL: its own */
    /* lib/spec/matrix.h. Of a matrix: where its members stand; of a member: whose it is. */
    size_t member_first, member_count;
    const char *matrix;
    unsigned number;   /* from 1 */
    struct node *rung; /* the param that rungs raise, as it is at first; NULL: none */
    struct node *axes; /* the params that it has of the matrix; of a matrix: its first member's */
    bool *is_before;   /* for each phase, whether it ends before this one starts */
};

struct phases {
    struct phases_entry *entries; /* in the order of the file */
    size_t count;
    size_t written_count; /* those of the file come first, then members */
    size_t *order;        /* indices, each after those it waits for and the one it stands beside */
};

/* Reads `root`'s defaults and phases. Returns -EINVAL when there is nothing to go on with; then,
 * too, `phases` is to be ended. `phases` borrows from the arena. `is_rehearsal`: as
 * matrix_expand() says. */
int phases_init(struct phases *phases, struct node_arena *arena, const struct node *root,
                bool is_rehearsal, struct spec_problems *problems);
void phases_fini(struct phases *phases);

/* The phase called as the scalar `node` says; NULL, after a problem, when there is none. */
struct phases_entry *phases_refer(const struct phases *phases, const struct node *node,
                                  struct spec_problems *problems);

#endif
