/* What the preflights of all nodes of a run say together. Pure: the lead adds each node's verdict,
 * and asks at the end what follows. Zero-initialised is a valid one without verdicts. */
#ifndef PHASED_WORKER_LEAD_FITNESS_H
#define PHASED_WORKER_LEAD_FITNESS_H

#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>

enum fitness_verdict { FITNESS_PASSED, FITNESS_FAILED, FITNESS_UNKNOWN };

enum { FITNESS_NAMED_MAX = 3 }; /* nodes whose reasons are told; the rest is counted */

struct fitness {
    unsigned heard;               /* nodes that have told */
    unsigned failed, unknown;     /* of them */
    struct text failures, doubts; /* "n3: gpus: 7 GPUs work, 8 are allocated; n5: ..." */
    struct text nodes;            /* that failed, with commas between */
};

void fitness_fini(struct fitness *fitness);

enum fitness_verdict fitness_parse(const char *outcome);

/* Of each node once. */
void fitness_add(struct fitness *fitness, const char *node, enum fitness_verdict verdict,
                 const char *reason);

/* "n3: gpus: 7 GPUs work, 8 are allocated", or "2 nodes: n3: ...; n5: ...". Only where one failed.
 * The caller's to free(), as are the others. */
char *fitness_failure(const struct fitness *fitness);

/* What is worth a note though the run goes on: the failures, where they are only observed, else
 * what could not be told. NULL: nothing. */
char *fitness_note(const struct fitness *fitness);

/* Writes the nodes to blame, as many whole names as fit. */
void fitness_blame(const struct fitness *fitness, char *ret_nodes, size_t size);

#endif
