/* Who runs a phase: a chain of files `lead.<n>` in the phase's folder, of which the highest counts
 * (doc/protocol.md). Jobs come back after phased has believed them over, and others have taken
 * their place then; at most one of them may start ranks.
 *
 * Each file is made by link(), which one of several wins, also on NFS. None is ever replaced, so
 * that nobody takes a claim away that was made a moment before. */
#ifndef PHASED_WORKER_LEAD_PHASE_CLAIM_H
#define PHASED_WORKER_LEAD_PHASE_CLAIM_H

#include <stdint.h>

struct assignment;
struct error;

/* Whose claim stands in the way. */
struct phase_holder {
    unsigned number; /* of the claim */
    unsigned attempt;
    int64_t job_id;
};

/* Claims the phase for a run of this job. Claims of the same job, of a run that has its outcome,
 * and the one numbered `over`, whose job Slurm says is over, do not stand in the way. -EBUSY:
 * another job's does, `ret_holder`. -ESTALE: a later run had its turn, so this one must never
 * begin. Any other error: nobody stands in the way, and the claim could not be made. */
int phase_claim_take(const struct assignment *assignment, int64_t job_id, unsigned over,
                     struct phase_holder *ret_holder, struct error *err);

#endif
