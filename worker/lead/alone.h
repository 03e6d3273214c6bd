/* Says whether another run of the phase may follow in the same job, and makes the next run while
 * the daemon is away. The lead writes the folder of the next run beside the folder of the last run.
 * The next run resumes from the newest whole checkpoint (doc/protocol.md, "Requeues"). */
#ifndef PHASED_WORKER_LEAD_ALONE_H
#define PHASED_WORKER_LEAD_ALONE_H

#include <stdbool.h>
#include <stdint.h>

struct assignment;
struct error;
struct outcome;

/* Whether another run may follow in the job of the run `last`. A run that made a step counts as
 * progress here, also if an earlier run made the same step. The daemon and alone_make_run() judge
 * that later. The run has ended with `outcome`, which is not written yet, and has saved its newest
 * checkpoint at `saved_step`; -1: it has saved none. */
bool alone_may_follow(const struct assignment *last, const struct outcome *outcome,
                      int64_t saved_step);

/* Makes the folder of the run after `last`; the caller frees the path. If the folder exists already
 * and belongs to the same job, an earlier lead or the daemon made it, and it is used. Returns
 * -EBUSY if the next run belongs to another job, and -ECANCELED if three runs in a row made no new
 * step. */
int alone_make_run(const struct assignment *last, char **ret_run_dir, struct error *err);

/* Returns the folder of the newest run that has a number from the daemon, `last` or an earlier run;
 * the caller frees the path. The channel of this run can carry commands. NULL: no run has a number.
 */
char *alone_find_numbered(const struct assignment *last);

#endif
