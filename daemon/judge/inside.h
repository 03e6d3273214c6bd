/* Inside daemon/judge. Calls go down: judge.c, then matrix.c and remedy.c, then evidence.c and
 * replan.c. */
#ifndef PHASED_DAEMON_JUDGE_INSIDE_H
#define PHASED_DAEMON_JUDGE_INSIDE_H

#include "lib/expr/expr.h"

#include <jansson.h>

struct core_effect;
struct error;
struct loop;
struct metrics;
struct phase;
struct store;
struct store_source;
struct workflow;

/* --- evidence.c ------------------------------------------------------------------------------- */

/* What the names of an expression mean in a phase: its params, its metrics, what is known of it. */
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

/* --- replan.c --------------------------------------------------------------------------------- */

/* Adds [{"param", "from", "to"}] of this phase to what was changed. */
void replan_change(struct store_source *source, const char *phase, const json_t *changes);

/* Reads the workflow's text again with all params that were set since. The resolved document, and
 * the model made of it, are the caller's. -EINVAL says what is wrong; then there is neither. */
int replan(const struct store_source *source, const struct workflow *workflow,
           json_t **ret_resolved, struct workflow **ret_plan, struct error *err);

/* --- matrix.c --------------------------------------------------------------------------------- */

/* Posts EV_JUDGED with whom the matrix chooses, and what follows from it. Fails when the record
 * cannot be read: try again. */
int matrix_judge(struct loop *loop, struct phase *matrix, struct error *err);

/* --- remedy.c --------------------------------------------------------------------------------- */

/* Posts EV_REMEDIED for the phase's remedy, with the rows of what changes. Fails when the record
 * cannot be read: then nothing is posted, and it may be tried again.
 *
 * The workflow's own text is read again with the params as the remedy sets them. So everything that
 * follows from them (derived params, strings, gates, resources, also of later phases) is what it
 * would be had they stood there from the beginning. */
int remedy_work_out(struct loop *loop, struct phase *phase, struct error *err);

#endif
