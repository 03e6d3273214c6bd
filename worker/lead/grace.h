/* The grace of a preemption: the time that Slurm gives a job to end. Slurm 24.05 to 25.11 remembers
 * that a job was in its grace.
 *
 * If the preemption mode is REQUEUE, such a Slurm requeues the job when the job exits, whatever its
 * exit code is. Slurm does so even if the job has asked for a requeue meanwhile and another run
 * of the job has ended. Slurm forgets the grace only when Slurm itself requeues the job. So a job
 * that goes on only exits within the grace, provided that Slurm requeues the job then. A finished
 * job forbids the requeue.
 *
 * Slurm 26.05 forgets the grace at any requeue. Slurm before 24.05 does not remember the grace.
 * With these versions, a job that goes on asks for a requeue. */
#ifndef PHASED_WORKER_LEAD_GRACE_H
#define PHASED_WORKER_LEAD_GRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Makes sure that Slurm requeues the job when the job exits now. `is_so` is false if Slurm does not
 * requeue the job or does not answer. Runs scontrol in the background, with one deadline for all
 * calls. `done` is always called, later. */
void grace_use(uv_loop_t *loop, int64_t job_id, void (*done)(void *context, bool is_so),
               void *context);

/* Makes sure that Slurm does not requeue a finished job, even if Slurm remembers the job's grace.
 * Call it before the job exits for the last time. Runs scontrol like grace_use(). `done` is always
 * called, later; `is_so` has no meaning. */
void grace_forget(uv_loop_t *loop, int64_t job_id, void (*done)(void *context, bool is_so),
                  void *context);

#endif
