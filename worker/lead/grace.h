/* Deals with the grace of a preemption, which Slurm remembers from 24.05 on.
 *
 * Where preemption requeues, Slurm requeues a job that was in this grace however the job exits.
 * Slurm does so even if the job has had itself requeued meanwhile and another run of the job has
 * ended. Slurm forgets the grace only with a requeue of its own. So a job that continues exits
 * within the grace, if that makes Slurm requeue the job. A job that is finished forbids the
 * requeue.
 *
 * Slurm 26.05 forgets the grace with any requeue, and Slurm before 24.05 does not remember the
 * grace. There, a job that continues asks to be requeued. */
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
