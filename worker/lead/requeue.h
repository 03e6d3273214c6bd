/* Asks Slurm to requeue this job: runs scontrol in the background with a deadline. Slurm kills the
 * job and this process at once, so everything must be written before. If the job was submitted as
 * not requeueable, its owner first allows the requeue. */
#ifndef PHASED_WORKER_LEAD_REQUEUE_H
#define PHASED_WORKER_LEAD_REQUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum requeue_answer {
    REQUEUE_REFUSED,
    REQUEUE_ACCEPTED,
    REQUEUE_BY_EXIT, /* Slurm requeues the job if it exits now (grace.h) */
};

/* `reason` is the message of scontrol if the requeue was refused. */
typedef void requeue_done(void *context, enum requeue_answer answer, const char *reason);

/* `done` is always called, later, if this process still lives. The struct frees itself. */
void requeue_start(uv_loop_t *loop, int64_t job_id, requeue_done *done, void *context);

#endif
