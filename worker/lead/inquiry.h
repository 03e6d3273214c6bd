/* Asks Slurm once what it knows about a job. The lead asks about its own job, for the time limit
 * and for the reason of a stop. It also asks about another job that stands in the way. scontrol
 * runs in the background with a deadline, because Slurm itself may be down. */
#ifndef PHASED_WORKER_LEAD_INQUIRY_H
#define PHASED_WORKER_LEAD_INQUIRY_H

#include "lib/protocol/job_state.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct phase_life;

enum {
    INQUIRY_TIMEOUT_MS = 3000,
    INQUIRY_PATIENT_MS = 10000, /* where little else can be done; Slurm's MessageTimeout */
};

struct inquiry_answer {
    enum cluster_job_state state; /* NONE: no answer; UNKNOWN: any other word of Slurm's */
    bool is_completing;           /* Slurm is ending the job; its state is UNKNOWN then */
    bool is_preempted;            /* Slurm has decided to preempt the job */
    bool is_timed_out;            /* Slurm is ending the job because of its time limit */
    unsigned restarts;            /* Slurm counts a requeue before it kills the job */
    double end_time;              /* the time limit, in seconds since 1970; 0: unknown */
    bool is_unknown;              /* the controller answers, but does not know the job */
    const char *text;             /* all output of scontrol, borrowed */
};

/* Reads what `scontrol --oneliner show job` prints. The answer borrows the text. */
struct inquiry_answer inquiry_read(const char *text);

typedef void inquiry_done(void *context, const struct inquiry_answer *answer);

/* `done` is always called, later. The inquiry frees itself. `is_other`: another job, which Slurm
 * may have forgotten. */
void inquiry_start(uv_loop_t *loop, int64_t job_id, bool is_other, inquiry_done *done,
                   void *context);
/* The same about the job of the lead, with more time. */
void inquiry_start_patient(uv_loop_t *loop, int64_t job_id, inquiry_done *done, void *context);

/* Whether the answer means that this life of the job is over. */
bool inquiry_says_over(const struct inquiry_answer *answer, const struct phase_life *life);
/* Whether Slurm is ending the job, and the caller should wait on. The caller has waited `waited_ms`
 * so far. The limit leaves time to kill the job's processes and to run an epilog, but not for a
 * node that hangs. */
bool inquiry_says_ending(const struct inquiry_answer *answer, int64_t waited_ms);

#endif
