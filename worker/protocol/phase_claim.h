/* Who runs a phase: a chain of files `lead.<n>` in the phase's folder. The highest number counts
 * (doc/protocol.md). A job may come back after phased took it for over and gave its place to
 * another job. At most one of these jobs may start ranks.
 *
 * Each file is made exactly once (lib/file.h), also on NFS, so one of several leads wins. Without
 * links, O_EXCL ensures this. No file is ever replaced or removed. Otherwise a lead that has read
 * an old claim long ago could claim a number that is free again, while another lead has a higher
 * number. */
#ifndef PHASED_WORKER_PROTOCOL_PHASE_CLAIM_H
#define PHASED_WORKER_PROTOCOL_PHASE_CLAIM_H

#include "lib/protocol/claim.h"

#include <stdbool.h>
#include <stdint.h>

struct assignment;
struct error;

/* The life of the job of this process, from Slurm and the batch script. */
struct phase_life phase_life_own(void);

/* The claim that prevents a new claim. */
struct phase_holder {
    unsigned number; /* of the claim; 0: no claim */
    struct phase_life life;
};

/* What the caller knows about existing claims, by their numbers. */
struct phase_passed {
    unsigned over; /* Slurm says that this life is over */
    unsigned left; /* the agents of its nodes have had the time to end its processes */
};

/* Claims the phase for a run of this life. These claims do not prevent it:
 *
 *   a claim of the same life;
 *   a claim that is over, by the outcome of its run or by `passed`, if no ranks can be left: each
 *   of its nodes has reported its end, or has had the time for it;
 *   a claim that cannot be read, after that time.
 *
 * -EBUSY: the claim `ret_holder` prevents it. -EAGAIN: the time is not over yet. -ESTALE: a later
 * run has claimed the phase, so this run must never begin. Any other error: no claim prevents it,
 * but the new claim could not be made. */
int phase_claim_take(const struct assignment *assignment, const struct phase_life *life,
                     struct phase_passed passed, struct phase_holder *ret_holder,
                     struct error *err);

/* Finds the last claim for this run; its lead has begun the run. -ENOENT: there is no such claim.
 * -EAGAIN: the only claims that may be of this run cannot be read; `ret_holder` has the number of
 * the newest of these. */
int phase_claim_of_run(const char *run_dir, struct phase_holder *ret_holder, struct error *err);

/* Returns the highest number in the phase of this run; 0: there is no claim. */
unsigned phase_claim_newest(const char *run_dir);
/* Whether another life has claimed the phase of this run, after the claim `number`. */
bool phase_claim_is_lost(const char *run_dir, const struct phase_life *life, unsigned number);

#endif
