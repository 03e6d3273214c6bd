/* Asks Slurm once, by scontrol, what it says of a job: of this one for the limit of its time, and
 * for why it is being ended. In the background and with a deadline, as Slurm itself may be what is
 * down. */
#ifndef PHASED_WORKER_LEAD_INQUIRY_H
#define PHASED_WORKER_LEAD_INQUIRY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct phase_life;

enum { INQUIRY_TIMEOUT_MS = 3000 };

struct inquiry_answer {
    char state[32];    /* Slurm's word, as RUNNING or COMPLETING; empty when there was no answer */
    bool is_preempted; /* Slurm has decided to preempt the job */
    unsigned restarts; /* how often the job was requeued: with the last time before it is killed */
    double end_time;   /* the limit, seconds since 1970; 0 when it is not known */
    bool is_unknown;   /* of another job: the controller answers, and knows no such job */
    const char *text;  /* all that was said, borrowed */
};

typedef void inquiry_done(void *context, const struct inquiry_answer *answer);

/* `done` is always called, later. The inquiry frees itself. */
void inquiry_start(uv_loop_t *loop, int64_t job_id, inquiry_done *done, void *context);
/* The same about a job that Slurm may not know any more. */
void inquiry_start_other(uv_loop_t *loop, int64_t job_id, inquiry_done *done, void *context);

/* Whether the answer about a life's job means that this life of it is over. */
bool inquiry_says_over(const struct inquiry_answer *answer, const struct phase_life *life);
/* Whether Slurm is ending the job, and is worth waiting for after `waited_ms`: what a node needs to
 * kill the job's processes, and to run an epilog, but not what a node needs that hangs. */
bool inquiry_says_ending(const struct inquiry_answer *answer, int64_t waited_ms);

#endif
