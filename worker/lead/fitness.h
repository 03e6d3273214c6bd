/* The combined result of the preflights on all nodes of a run. This is a pure value: the lead adds
 * the verdict of each node, and asks for the result at the end. A zero-initialised struct is valid
 * and has no verdicts. */
#ifndef PHASED_WORKER_LEAD_FITNESS_H
#define PHASED_WORKER_LEAD_FITNESS_H

#include "lib/protocol/words.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>

enum { FITNESS_NAMED_MAX = 3 }; /* nodes that a message names; the other nodes are only counted */

struct fitness {
    unsigned heard;               /* nodes with a verdict */
    unsigned failed, unknown;     /* nodes with this verdict */
    struct text failures, doubts; /* "n3: gpus: 7 GPUs work, 8 are allocated; n5: ..." */
    struct text nodes;            /* the failed nodes, separated by commas */
};

void fitness_fini(struct fitness *fitness);

/* Returns the outcome with this name. NULL, or another word: PREFLIGHT_UNKNOWN. */
enum preflight_outcome fitness_parse(const char *word);

/* Adds the verdict of a node. Each node is added once. */
void fitness_add(struct fitness *fitness, const char *node, enum preflight_outcome outcome,
                 const char *reason);

/* Returns "n3: gpus: 7 GPUs work, 8 are allocated", or "2 nodes: n3: ...; n5: ...". At least one
 * node must have failed. The caller frees the text. */
char *fitness_failure(const struct fitness *fitness);

/* Returns the text of a warning for a run that continues: the failures if they are only observed,
 * otherwise what could not be checked. The caller frees the text. NULL: no warning is needed. */
char *fitness_note(const struct fitness *fitness);

/* Writes the names of the failed nodes. Only whole names are written, as many as fit. */
void fitness_blame(const struct fitness *fitness, char *ret_nodes, size_t size);

#endif
