/* Asks Slurm to requeue this job, by scontrol, in the background and with a deadline. Slurm kills
 * the job at once, this process with it: everything must be written before. Where the job was
 * submitted so that it may not be requeued, its owner allows it first. */
#ifndef PHASED_WORKER_LEAD_REQUEUE_H
#define PHASED_WORKER_LEAD_REQUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum requeue_answer {
    REQUEUE_REFUSED,
    REQUEUE_ACCEPTED,
    REQUEUE_BY_EXIT, /* Slurm requeues the job when it exits now (grace.h) */
};

/* `reason` is what scontrol said, when the requeue was refused. */
typedef void requeue_done(void *context, enum requeue_answer answer, const char *reason);

/* `done` is always called, later, if this process still lives. The requeue frees itself. */
void requeue_start(uv_loop_t *loop, int64_t job_id, requeue_done *done, void *context);

#endif
