/* What the runs of a phase have left: the newest checkpoint to resume from, and how far they have
 * come.
 *
 * A phase's folder has a folder for each attempt: 1, 2, ... If a run resumed from step 500, the
 * work of earlier runs after step 500 is no longer wanted or was bad. So only checkpoints that lead
 * to the newest run count. */
#ifndef PHASED_WORKER_PROTOCOL_LINEAGE_H
#define PHASED_WORKER_PROTOCOL_LINEAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the newest checkpoint that is not suspect and has the size in the journals, as {"path",
 * "step"}; a new reference. NULL: there is no such checkpoint. `phase_dir` has the runs, and
 * `attempt` is the newest of them.
 */
json_t *lineage_checkpoint(const char *phase_dir, unsigned attempt);

/* Returns the first paths of all checkpoints of the runs up to `attempt`. The value of a path says
 * whether a run that begins at `resume` can rely on the checkpoint: it leads there, is whole, and
 * is not suspect. A new reference. */
json_t *lineage_saved(const char *phase_dir, unsigned attempt, const json_t *resume);

/* Returns the newest attempt, `attempt` or an earlier one, with a number from the daemon; 0: there
 * is none. */
unsigned lineage_numbered(const char *phase_dir, unsigned attempt);

/* How many runs in a row, up to `attempt`, made no new step and saved no newer checkpoint. A step
 * is new if no preempted run just before made it from the same checkpoint; without checkpoints, any
 * step is new. */
unsigned lineage_stuck(const char *phase_dir, unsigned attempt, bool has_checkpoint);

#endif
