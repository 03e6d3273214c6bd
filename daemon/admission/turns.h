/* Whose turn it is to be submitted, if limits.yaml makes jobs wait. Pure: plain data goes in, and
 * each job gets an answer.
 *
 * Jobs with the highest priority come first. Among jobs of equal priority the workflows take turns:
 * the workflow with the fewest runs in Slurm has the next turn, and the older workflow comes first
 * if two have equally many. The order is strict. If the first waiting job has no room, no job
 * behind it takes the room that is left. Otherwise small jobs could keep a large job waiting for
 * ever. A job that limits.yaml does not limit waits for nobody. */
#ifndef PHASED_DAEMON_ADMISSION_TURNS_H
#define PHASED_DAEMON_ADMISSION_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a submission waits for. */
enum turn_wait {
    TURN_GOES,    /* nothing */
    TURN_AFTER,   /* the workflow that must succeed first */
    TURN_WINDOW,  /* the time of day */
    TURN_BUDGET,  /* money */
    TURN_NEVER,   /* another limits.yaml: the job asks for more than the file ever allows */
    TURN_JOBS,    /* fewer jobs in Slurm */
    TURN_RUNNING, /* fewer jobs that may run */
    TURN_GPUS,    /* fewer GPUs in use */
    TURN_BEHIND,  /* other jobs, which come first */
};

/* What limits.yaml allows at a time (0: no limit), or how much of that is in Slurm now. */
struct turn_limits {
    unsigned jobs;
    unsigned running; /* jobs that may run side by side: all candidates of a run count as one */
    unsigned gpus;    /* the GPUs of these jobs */
};

/* A job that is ready to be submitted as soon as there is room. */
struct turn {
    uint64_t workflow, job;
    uint64_t run; /* equal for candidates of one run, whose ids must follow each other; not 0 */
    int priority;
    unsigned has; /* how many runs of its workflow have jobs in Slurm */
    unsigned gpus;
    bool is_candidate;   /* the run has a job in Slurm already, and only one of its jobs will run */
    void *owner;         /* belongs to the caller */
    enum turn_wait wait; /* the answer */
    unsigned place;      /* in turns_decide(): how many runs of the workflow come first */
};

/* Asked about each job that has its turn and has room. True: the job is submitted. False: the
 * function has set `wait`, and jobs behind this job need not wait for it. */
typedef bool turn_may(void *context, struct turn *turn);

/* What a job of a new run with so many GPUs waits for. Other waiting jobs are ignored. */
enum turn_wait turns_ask(unsigned gpus, const struct turn_limits *limits,
                         const struct turn_limits *used);

/* Decides about all jobs, and puts them in the order of their turns. Adds the jobs that are
 * submitted to `used`. */
void turns_decide(struct turn *turns, size_t count, const struct turn_limits *limits,
                  struct turn_limits *used, turn_may *may, void *context);

#endif
