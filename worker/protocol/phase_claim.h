/* Who runs a phase: a chain of files `lead.<n>` in the phase's folder, of which the highest counts
 * (doc/protocol.md). Jobs come back after phased has believed them over, and others have taken
 * their place then; at most one of them may start ranks.
 *
 * Each file is made once (lib/file.h), which one of several wins, also on NFS; without links by
 * O_EXCL.
 * No file is ever replaced or removed: a number that was free again could be claimed by a lead that
 * has looked at the one before it long ago, while another holds a higher one. */
#ifndef PHASED_WORKER_PROTOCOL_PHASE_CLAIM_H
#define PHASED_WORKER_PROTOCOL_PHASE_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

enum { PHASE_CLAIM_TOKEN_MAX = 64 };

struct assignment;
struct error;

/* One life of a job. Ids are given out again after a controller's crash, and a job that is requeued
 * begins another life. */
struct phase_life {
    int64_t job_id;
    char token[PHASE_CLAIM_TOKEN_MAX]; /* of the job; empty: not known */
    unsigned restarts;
};

/* Of the job that this process is in, as Slurm and the batch script tell it. */
struct phase_life phase_life_own(void);

/* Whose claim stands in the way. */
struct phase_holder {
    unsigned number; /* of the claim; 0: nobody's does */
    struct phase_life life;
};

/* What the caller knows of the claims in its way, by their numbers. */
struct phase_passed {
    unsigned over; /* its life is over, as Slurm says */
    unsigned left; /* its nodes have had the time that their agents need to end what runs there */
};

/* Claims the phase for a run of this life. A claim of the same life does not stand in the way, nor
 * one that is over, by its run's outcome or by `passed`, once none of its ranks can be left: each
 * of its nodes has told its end, or has had its time; nor one that cannot be read after that time.
 * -EBUSY: another one does, `ret_holder`. -EAGAIN: it waits for that time. -ESTALE: a later run had
 * its turn, so this one must never begin. Any other error: nobody stands in the way, and the claim
 * could not be made. */
int phase_claim_take(const struct assignment *assignment, const struct phase_life *life,
                     struct phase_passed passed, struct phase_holder *ret_holder,
                     struct error *err);

/* The highest number in the phase of this run; 0: there is no claim. */
unsigned phase_claim_newest(const char *run_dir);
/* Whether another life has claimed the phase of this run, since `number` was the highest one. */
bool phase_claim_is_lost(const char *run_dir, const struct phase_life *life, unsigned number);

#endif
