/* Inside daemon/judge. Calls go down: judge.c, then matrix.c and remedy.c, then values.c and
 * revision.c. reuse.c stands alone. */
#ifndef PHASED_DAEMON_JUDGE_PRIVATE_H
#define PHASED_DAEMON_JUDGE_PRIVATE_H

#include "lib/expr/expr.h"

#include <jansson.h>

struct error;
struct loop;
struct metrics;
struct phase;
struct store;
struct store_source;
struct workflow;

/* --- values.c ------------------------------------------------------------------------------- */

/* What the names in an expression mean in a phase: its params, its metrics, and facts about it. */
struct values {
    json_t *spec, *facts;
    struct metrics *metrics;
    char *lack; /* the entries that the metrics lack, in words for people; NULL: no entries */
};

/* Loads the values from the record. Loads only the metrics whose names are keys of `wanted`; NULL:
 * the metrics that the phase's own gate reads. The caller calls values_fini(), also after a
 * failure. */
int values_load(struct store *store, const struct phase *phase, const json_t *wanted,
                struct values *values, struct error *err);
void values_fini(struct values *values);

/* Adds the names of a phase (empty: the phase itself) that an expression reads to the keys of
 * `wanted`. The expression may be NULL. */
void values_add_names(json_t *wanted, const char *expression, const char *phase);
/* Returns a new object with the names of the phase that the checks of a gate read. */
json_t *values_gate_names(const json_t *gate, const char *phase);

/* The names in the form that lib/expr takes; borrowed from the values. `phase` NULL: the phase
 * itself. */
struct expr_names values_names(const struct values *values, const char *phase);

/* --- revision.c ------------------------------------------------------------------------------- */

/* Resolves the workflow's text again with all params that were set since. The caller owns the
 * resolved document and the model that is made from the document. -EINVAL: `err` says what is
 * wrong, and neither of the two is made. */
int revision_resolve(const struct store_source *source, const struct workflow *workflow,
                     json_t **ret_resolved, struct workflow **ret_revision, struct error *err);

/* --- matrix.c --------------------------------------------------------------------------------- */

/* Posts EV_JUDGED with the members that the matrix chooses, and with what follows from the choice.
 * Fails if the record cannot be read. The caller then tries again. */
int matrix_judge(struct loop *loop, struct phase *matrix, struct error *err);

/* As judge_so_far() of a matrix, but the answer is worked out each time. */
int matrix_so_far(struct loop *loop, const struct phase *matrix, json_t **ret_json,
                  struct error *err);

/* --- remedy.c --------------------------------------------------------------------------------- */

/* Posts EV_REMEDIED for the phase's remedy, with the rows of what changes. Fails if the record
 * cannot be read. Nothing is posted then, and the caller may try again.
 *
 * The workflow's own text is resolved again with the params that the remedy sets. Derived params,
 * strings, gates and resources follow from the params, also in later phases. So all of them are as
 * if the params had been in the text from the beginning. */
int remedy_work_out(struct loop *loop, struct phase *phase, struct error *err);

#endif
