/* A round: which of the jobs that wait for limits.yaml are submitted. Pure: plain data goes in, and
 * each job gets an answer.
 *
 * Jobs with the highest priority come first. Among jobs of equal priority the workflows alternate:
 * the workflow with the fewest runs in Slurm is next, and the older workflow comes first if two
 * have equally many. The order is strict. If the first waiting job has no room, no job behind it
 * takes the room that is left. Otherwise small jobs could keep a large job waiting forever. A job
 * that limits.yaml does not limit waits for nobody. */
#ifndef PHASED_DAEMON_ADMISSION_ROUND_H
#define PHASED_DAEMON_ADMISSION_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a submission waits for. */
enum round_wait {
    ROUND_GOES,    /* nothing */
    ROUND_AFTER,   /* the workflow that must succeed first */
    ROUND_WINDOW,  /* the time of day */
    ROUND_BUDGET,  /* money */
    ROUND_NEVER,   /* another limits.yaml: the job asks for more than the file ever allows */
    ROUND_JOBS,    /* fewer jobs in Slurm */
    ROUND_RUNNING, /* fewer jobs that may run */
    ROUND_GPUS,    /* fewer GPUs in use */
    ROUND_BEHIND,  /* other jobs, which come first */
};

/* What limits.yaml allows at a time (0: no limit), or how much of that is in Slurm now. */
struct round_limits {
    unsigned jobs;
    unsigned running; /* jobs that may run side by side: all candidates of a run count as one */
    unsigned gpus;    /* the GPUs of these jobs */
};

/* A job that is ready to be submitted as soon as there is room. */
struct round_job {
    uint64_t workflow, id;
    uint64_t run; /* equal for candidates of one run, whose ids must follow each other; not 0 */
    int priority;
    unsigned has; /* how many runs of its workflow have jobs in Slurm */
    unsigned gpus;
    bool is_candidate; /* the run has a job in Slurm already, and only one of its jobs will run */
    void *context;     /* belongs to the caller */
    enum round_wait wait; /* the answer */
    unsigned place;       /* in round_decide(): how many runs of the workflow come first */
};

/* Asked about each job that is next and has room. True: the job is submitted. False: the
 * function has set `wait`, and jobs behind this job need not wait for it. */
typedef bool round_permit(void *context, struct round_job *job);

/* What a job with so many GPUs waits for. `runs`: the job adds one more job that may run. Other
 * waiting jobs are ignored. */
enum round_wait round_ask(unsigned gpus, bool runs, const struct round_limits *limits,
                          const struct round_limits *used);

/* Whether the limits limit a job with so many GPUs at all. */
bool round_limits_job(const struct round_limits *limits, unsigned gpus);

/* Decides about all jobs, and puts them in their order. Adds the jobs that are
 * submitted to `used`. */
void round_decide(struct round_job *jobs, size_t count, const struct round_limits *limits,
                  struct round_limits *used, round_permit *may, void *context);

#endif
