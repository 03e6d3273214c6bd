/* Whose turn it is to be submitted, where limits.yaml lets jobs wait. Pure: plain data in, an
 * answer for each out.
 *
 * Those with the highest priority come first; of equal ones it goes round: the workflow with the
 * fewest runs in Slurm has the next turn, or the oldest of several. The order is strict: as long as
 * the first that waits has no room, nobody behind it takes what is left, so that small jobs cannot
 * keep a large one waiting for ever. What limits.yaml does not bound waits for nobody. */
#ifndef PHASED_DAEMON_ADMISSION_TURNS_H
#define PHASED_DAEMON_ADMISSION_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a submission waits for. */
enum turn_wait {
    TURN_GOES,    /* nothing */
    TURN_AFTER,   /* the workflow that its own comes after */
    TURN_WINDOW,  /* the time of day */
    TURN_BUDGET,  /* money */
    TURN_NEVER,   /* another limits.yaml: it asks for more than that allows at all */
    TURN_JOBS,    /* fewer jobs in Slurm */
    TURN_RUNNING, /* fewer that may run */
    TURN_GPUS,    /* fewer GPUs in use */
    TURN_BEHIND,  /* others, which come first */
};

/* What limits.yaml allows at a time (0: as many as wanted), or what is in Slurm of it. */
struct turn_limits {
    unsigned jobs;
    unsigned
        running;   /* those of the jobs that may run side by side: of the candidates of a run one */
    unsigned gpus; /* of these */
};

/* A job that would be submitted if only there were room. */
struct turn {
    uint64_t workflow, job;
    uint64_t run; /* equal for candidates, which must have their ids in a row; not 0 */
    int priority;
    unsigned has; /* how many runs of its workflow have jobs in Slurm */
    unsigned gpus;
    bool is_candidate;   /* its run has a job in Slurm already: of the two only one will run */
    void *owner;         /* the caller's */
    enum turn_wait wait; /* the answer */
    unsigned place;      /* in turns_decide(): how many runs of its workflow come before it */
};

/* Asked for each that has its turn and room: whether it goes. False: it has set `wait`, and does
 * not stand in the way of those behind it. */
typedef bool turn_may(void *arg, struct turn *turn);

/* What a job of one more run with so many GPUs waits for, others that wait aside. */
enum turn_wait turns_ask(unsigned gpus, const struct turn_limits *limits,
                         const struct turn_limits *used);

/* Decides all of them; they are put in the order of their turns. `used` grows by those that go. */
void turns_decide(struct turn *turns, size_t count, const struct turn_limits *limits,
                  struct turn_limits *used, turn_may *may, void *arg);

#endif
