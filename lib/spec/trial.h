/* Resolving one phase again with some of its params changed, to see whether that is possible.
 *
 * TRIAL_NODES_MAX bounds the work for the whole file; a trial beyond it is a problem. */
#ifndef PHASED_LIB_SPEC_TRIAL_H
#define PHASED_LIB_SPEC_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct yaml_node;
struct yaml_arena;
struct phases_entry;
struct scope_before;
struct spec_problems;

enum { TRIAL_NODES_MAX = 200000 }; /* nodes of the phases that are tried, counted each time */

/* What a phase is resolved from; all borrowed. */
struct trial {
    struct yaml_arena *arena;
    struct spec_problems *problems; /* the caller of trial_run() reports here */
    size_t *expanded;               /* see scope_init() */
    size_t *nodes;                  /* nodes that were tried so far in this file */
    const struct phases_entry *entry;
    json_t *beside;                  /* the phase that this one stands beside, resolved, or NULL */
    const struct yaml_node *params;  /* the params with --set */
    const struct yaml_node *written; /* the params without --set */
    const struct scope_before *before;
    size_t before_count;
};

/* Resolves the phase with `changes` (param to value) over its params. Returns false if that has
 * problems, with the first problem as text; the caller frees it. Returns true with *ret_problem
 * NULL. If TRIAL_NODES_MAX is reached, the problem says so, and nothing is tried. */
bool trial_run(const struct trial *trial, const json_t *changes, json_t **ret_phase,
               char **ret_problem);

/* Takes all remedies of the phase in their order, as often as each may be taken, and resolves the
 * phase each time, so that an impossible remedy is reported before the workflow is queued. `json`
 * is the resolved phase, `map` its remedies as written. */
void trial_remedies(const struct trial *trial, const struct yaml_node *map, const json_t *json);

#endif
