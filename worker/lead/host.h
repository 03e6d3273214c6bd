/* `phase-worker host JOB_DIR`: the batch script of a job that several phases share side by side.
 * The host starts a lead for the job's own folder, and a lead for each guest in
 * JOB_DIR/guests.json. Guests may join as long as the job runs. Each lead serves its runs as if it
 * were alone, with one exception: if a run is to continue after a requeue, the lead exits with
 * GUEST_REQUEUE. Then the host tells the other leads to stop, too. When all leads have ended, the
 * host asks Slurm for the requeue, once.
 *
 * The host holds the allocation as long as a lead lives. If a lead is killed, the host waits until
 * the processes that the lead left have ended. Then it starts the lead again. The new lead finds
 * out how its run ended, as after a requeue. If a lead keeps dying, the host starts it less and
 * less often, and does not hold the allocation for this lead alone. */
#ifndef PHASED_WORKER_LEAD_HOST_H
#define PHASED_WORKER_LEAD_HOST_H

/* Returns the exit code: 0 if each lead succeeded the last time it ran. */
int host_main(const char *job_dir);

#endif
