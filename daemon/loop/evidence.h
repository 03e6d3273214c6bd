/* What the names of an expression mean in a phase: its params, its metrics, what is known of it. */
#ifndef PHASED_DAEMON_LOOP_EVIDENCE_H
#define PHASED_DAEMON_LOOP_EVIDENCE_H

#include "lib/expr/expr.h"

#include <jansson.h>

struct error;
struct metrics;
struct phase;
struct store;

struct evidence {
    json_t *spec, *facts;
    struct metrics *metrics;
    char *lack; /* which entries of journals the metrics lack, for people; NULL: none */
};

/* From the record. Whether it fails or not, it is the caller's to evidence_fini(). */
int evidence_load(struct store *store, const struct phase *phase, struct evidence *evidence,
                  struct error *err);
void evidence_fini(struct evidence *evidence);

/* As lib/expr takes it; borrows from the evidence. `phase`: NULL for the own one. */
struct expr_names evidence_names(const struct evidence *evidence, const char *phase);

#endif
