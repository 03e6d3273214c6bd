/* Who runs a phase: a chain of files `lead.<n>` in the phase's folder, of which the highest counts
 * (doc/protocol.md). Jobs come back after phased has believed them over, and others have taken
 * their place then; at most one of them may start ranks.
 *
 * Each file is made by link(), which one of several wins, also on NFS. None is ever replaced or
 * removed: a number that was free again could be claimed by a lead that has looked at the one
 * before it long ago, while another holds a higher one. */
#ifndef PHASED_WORKER_LEAD_PHASE_CLAIM_H
#define PHASED_WORKER_LEAD_PHASE_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

enum { PHASE_CLAIM_TOKEN_MAX = 64 };

struct assignment;
struct error;
struct inquiry_answer;

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

/* Claims the phase for a run of this life. Claims of the same life, of a run that has its outcome,
 * and the one numbered `over`, whose life is, do not stand in the way. -EBUSY: another one does,
 * `ret_holder`. -ESTALE: a later run had its turn, so this one must never begin. Any other error:
 * nobody stands in the way, and the claim could not be made. */
int phase_claim_take(const struct assignment *assignment, const struct phase_life *life,
                     unsigned over, struct phase_holder *ret_holder, struct error *err);

/* Whether what Slurm says of the holder's job means that this life of it is over. */
bool phase_life_is_over(const struct phase_life *life, const struct inquiry_answer *answer);
/* Whether Slurm is ending the job, and is worth waiting for after `waited_ms`: what a node needs to
 * kill the job's processes, and to run an epilog, but not what a node needs that hangs. */
bool phase_life_is_ending(const struct inquiry_answer *answer, int64_t waited_ms);

#endif
