/* `phase-worker lead JOB_DIR`: the batch script of a job. As `guest`, it is one of the leads that
 * the host has started. The lead serves the run that current.json names. After that run it serves
 * the runs that the daemon gives it, one after another, in the same allocation.
 *
 *   launching -> running -> lingering -> launching ... -> leaving
 *
 * One job step holds an agent on each node for as long as the job lives. Only the lead decides how
 * a run ended: the first cause counts. The lead writes the outcome whatever happens, and leaves as
 * soon as nothing is left to do. After a run, the lead waits for the linger time of the run. If its
 * job was requeued, the lead waits for the daemon, for up to a minute more. */
#ifndef PHASED_WORKER_LEAD_LEAD_H
#define PHASED_WORKER_LEAD_LEAD_H

#include <stdbool.h>

/* Exit codes of a guest. */
enum {
    GUEST_REQUEUE = 75, /* its job must be requeued */
    GUEST_AGAIN = 76,   /* it could not open its next run, and another try may succeed */
};

/* Returns the exit code: 0 if the last run succeeded or goes on after a requeue, or if another job
 * serves the folder; otherwise 1. A guest shares its job with other leads. Only the host (host.h)
 * asks Slurm to requeue that job, so a guest that goes on returns GUEST_REQUEUE. A guest that could
 * not open its next run returns GUEST_AGAIN. */
int lead_main(const char *job_dir, bool is_guest);

#endif
