/* Finds the process of a hanging run that does something else than comparable processes. Usually
 * all other processes wait for this process, so it explains the hang. This module is pure. The
 * counts are JSON, because the nodes send them to the lead.
 *
 * Two processes of a node are comparable if both have at least half as many threads as the process
 * with most threads. So trainers are compared, and their launchers, shells and data loaders are
 * not. */
#ifndef PHASED_WORKER_HEALTH_OUTLIER_H
#define PHASED_WORKER_HEALTH_OUTLIER_H

#include <jansson.h>
#include <stddef.h>

/* Takes the result of evidence_finish(). Returns a new object: {"sleeps": {"count": 7, "who":
 * "python3 of rank 0 (pid 4711)", "pid": 4711, "rank": 0}, "spins": {...}, "stuck": {...}}. `who`,
 * `pid` and `rank` are about the first such process; `rank` may be absent. A member with the count
 * 0 is left out. */
json_t *outlier_count(const json_t *evidence);

struct outlier_node {
    const char *name;
    const json_t *counts; /* from outlier_count(); NULL: no answer */
};

struct outlier_process {
    int pid;  /* 0: there is no outlier */
    int rank; /* -1: it has no rank */
};

/* Describes the outlier: "unlike 7 others, python3 of rank 3 (pid 4711) on n2 sleeps". The caller
 * frees the text. NULL: all processes do the same, or more than a quarter of them differ.
 * `ret_process` is always set. */
char *outlier_find(const struct outlier_node *nodes, size_t count,
                   struct outlier_process *ret_process);

#endif
