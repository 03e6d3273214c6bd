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

/* Returns the newest whole checkpoint that is not suspect, as {"path", "step"}; a new reference.
 * NULL: there is no such checkpoint. `phase_dir` has the runs. `attempt` is the newest run. */
json_t *lineage_checkpoint(const char *phase_dir, unsigned attempt);

/* Returns the checkpoints of the runs up to `attempt`: an object with the first path of each. The
 * value of a path says whether a run that begins at `resume` can rely on the checkpoint: it leads
 * to `resume`, is whole, and is not suspect. A new reference. */
json_t *lineage_saved(const char *phase_dir, unsigned attempt, const json_t *resume);

/* Returns the newest attempt up to `attempt` that has a number from the daemon; 0: no attempt has a
 * number. */
unsigned lineage_numbered(const char *phase_dir, unsigned attempt);

/* Whether phased sees nothing of the phase: it has no checkpoints, and no run up to `attempt` has
 * told a step. phase_is_unseen() of the daemon has the same rule. */
bool lineage_is_unseen(const char *phase_dir, unsigned attempt, bool has_checkpoint);

/* How many runs in a row, up to `attempt`, made no new step and saved no newer checkpoint. If the
 * runs just before were preempted and began at the same checkpoint, their steps are not new. If the
 * phase has no checkpoints, all steps are new. A preempted run does not count if phased sees
 * nothing of the phase. */
unsigned lineage_stuck(const char *phase_dir, unsigned attempt, bool has_checkpoint);

#endif
