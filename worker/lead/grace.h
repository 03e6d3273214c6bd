/* What Slurm remembers of a job that was in the grace of a preemption, from 24.05 on.
 *
 * Where preemption requeues, such a job is requeued however it exits, also when it has had itself
 * requeued meanwhile and another run of it has ended. Slurm forgets the grace only with a requeue
 * of its own. So a job that goes on exits in the grace, where that makes Slurm requeue it; and one
 * that is over forbids it. 26.05 forgets the grace with any requeue, before 24.05 there was no such
 * memory: there a job that goes on asks to be requeued. */
#ifndef PHASED_WORKER_LEAD_GRACE_H
#define PHASED_WORKER_LEAD_GRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Sees to it that Slurm requeues the job when it exits now. `is_so` is false where Slurm does not,
 * or does not tell. Asks by scontrol, in the background and with one deadline for all that it asks;
 * `done` is always called, later. */
void grace_use(uv_loop_t *loop, int64_t job_id, void (*done)(void *context, bool is_so),
               void *context);

/* Before the last end of a job that may be remembered so: sees to it that Slurm does not requeue
 * it. Likewise; `is_so` is of no use to anybody. */
void grace_forget(uv_loop_t *loop, int64_t job_id, void (*done)(void *context, bool is_so),
                  void *context);

#endif
