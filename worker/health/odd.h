/* Which of a hanging run's processes does something else than its like: mostly all wait for one,
 * and what that one does is why. Pure; what is handed on is JSON, as it travels from the nodes to
 * the lead.
 *
 * Alike are, on a node, the processes with at least half as many threads as the one with most:
 * trainers, not their launchers, shells and data loaders. */
#ifndef PHASED_WORKER_HEALTH_ODD_H
#define PHASED_WORKER_HEALTH_ODD_H

#include <jansson.h>
#include <stddef.h>

/* Of what evidence_finish() gives: {"sleeps": {"count": 7, "who": "python3 of rank 0 (pid 4711)"},
 * "spins": {...}, "stuck": {...}}, what none does left out; `who` is the first. A new object. */
json_t *odd_count(const json_t *evidence);

struct odd_node {
    const char *name;
    const json_t *counts; /* of odd_count(); NULL: it has not answered */
};

/* In words, the caller's to free: "unlike 7 others, python3 of rank 3 (pid 4711) on n2 sleeps".
 * NULL where they do not differ, or more than a quarter of them does. */
char *odd_find(const struct odd_node *nodes, size_t count);

#endif
