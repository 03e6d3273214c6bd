/* What the runs of a phase have left behind them: the newest checkpoint to go on from, and how far
 * they have come.
 *
 * A phase's folder holds its runs by the number of their attempt: 1, 2, ... A run that resumed from
 * step 500 says that what earlier runs made after step 500 is no longer wanted, or was no good; so
 * only checkpoints that lead to the newest run count. */
#ifndef PHASED_WORKER_PROTOCOL_LINEAGE_H
#define PHASED_WORKER_PROTOCOL_LINEAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The newest checkpoint that is not suspect and has the size that the journals recorded, as
 * {"path", "step"}, or null; a new reference. `phase_dir` holds the runs, `attempt` is the newest
 * of them. */
json_t *lineage_checkpoint(const char *phase_dir, unsigned attempt);

/* The first paths of all checkpoints of the runs up to `attempt`, each with whether a run that
 * begins from `resume` can rely on it: it leads there, is whole, and not suspect. A new reference.
 */
json_t *lineage_saved(const char *phase_dir, unsigned attempt, const json_t *resume);

/* The attempt of the newest run, `attempt` or before, to which the daemon gave a number; 0 when
 * there is none. */
unsigned lineage_numbered(const char *phase_dir, unsigned attempt);

/* How many runs in a row, up to `attempt`, ended without a step more than they began with. */
unsigned lineage_stuck(const char *phase_dir, unsigned attempt);

#endif
