/* The report of phase-preflight about a node, in the form for the journal and the lead. This module
 * is pure. */
#ifndef PHASED_WORKER_NODE_NODECHECK_REPORT_H
#define PHASED_WORKER_NODE_NODECHECK_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { NODECHECK_REASON_MAX = 180, NODECHECK_MODEL_SIZE = 8 };

/* How the program ended. */
struct nodecheck_end {
    const char *output; /* its output */
    size_t size;
    int status;         /* of waitpid(), if it ended in time */
    bool is_late;       /* it was killed at the deadline */
    const char *failed; /* why it could not be started; or NULL */
    double limit_s;     /* the deadline */
};

/* Returns the members of a `preflight` entry (lib/protocol/entry.h) without `seconds` and
 * `observe`, as a new reference. The reason has the rows that failed, or the first essential row
 * that could not tell. It is empty for "passed". */
json_t *nodecheck_report(const char *level, const struct nodecheck_end *end);

/* Whether only leftovers of an earlier run speak against the node. */
bool nodecheck_may_pass_later(const json_t *report);

/* Finds the model that NVML's name must have for a type of Slurm: "H100" for "h100". False: the
 * type is a name of the site and promises nothing. */
bool nodecheck_model(const char *gpu_type, char ret_model[NODECHECK_MODEL_SIZE]);

#endif
