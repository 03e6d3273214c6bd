/* `phase-worker host JOB_DIR`: the batch script of a job that phases share side by side. It starts
 * a lead for the job's own folder and one for each of its guests, which JOB_DIR/guests.json names;
 * guests may join as long as the job lasts. Each lead serves its runs as if it were alone, but for
 * one thing: when a run is to go on after a requeue it ends with GUEST_REQUEUE. Then the others are
 * told to stop too, and when all have ended the host asks Slurm for the requeue, once.
 *
 * The allocation is held as long as one of the leads lives. One that dies is started again, when
 * all that it has left behind has ended: it finds out what became of its run as after a requeue.
 * One that keeps dying is tried less and less often, and the allocation is not held for it alone.
 */
#ifndef PHASED_WORKER_LEAD_HOST_H
#define PHASED_WORKER_LEAD_HOST_H

/* Returns the exit status: 0 when all leads ended so at last. */
int host_main(const char *job_dir);

#endif
