/* `phase-worker lead JOB_DIR`: the batch script of a job, or, as `guest`, one of those that its
 * batch script has started. It serves the run that current.json
 * names, and after it those that the daemon gives it, one after another, in the same allocation.
 *
 *   launching -> running -> lingering -> running ... -> leaving
 *
 * One job step holds an agent on each node for as long as the job lives. The lead alone decides how
 * a run ended: the first cause counts, whatever follows from it. It writes the outcome whatever
 * happens, and leaves as soon as nothing is left to do: an allocation is never held idle for
 * longer than the linger time of a run. */
#ifndef PHASED_WORKER_LEAD_LEAD_H
#define PHASED_WORKER_LEAD_LEAD_H

#include <stdbool.h>

enum { GUEST_REQUEUE = 75 }; /* the exit status of a guest that wants its job requeued */

/* Returns the exit status: 0 when the last run succeeded, 1 otherwise. A guest shares its job with
 * others, and leaves it to the host (host.h) to have it requeued. */
int lead_main(const char *job_dir, bool is_guest);

#endif
