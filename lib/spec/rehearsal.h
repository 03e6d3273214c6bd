/* A rehearsal: the whole workflow on the allocations of the real workflow, with a few steps of each
 * phase. It is made of the resolved workflow, with these differences:
 *
 *   - A phase that counts steps ends early by `until`: after `steps` steps, or after
 *     REHEARSAL_STEPS_S. The steps of the phases before it are added, because the phase may
 *     continue their count. A phase that counts no steps ends after REHEARSAL_BLIND_S.
 *   - A phase with a checkpoint is run again from it, for REHEARSAL_RESUMED_STEPS. `until_resumed`
 *     ends that run. It counts steps from the checkpoint, because the first run may have gone on
 *     while it was being stopped.
 *   - A phase with `outputs`, `shard` or `join` runs whole, with a warning: phases that need its
 *     results may need all of them.
 *   - A matrix is an ordinary phase with the params of its first member (lib/spec/matrix.h).
 *   - Checks of gates only warn, and every phase promotes: a few steps prove nothing.
 *   - There are no remedies; what fails has failed.
 *   - `time` is at most REHEARSAL_TIME_S, unless a phase in the same job runs whole.
 */
#ifndef PHASED_LIB_SPEC_REHEARSAL_H
#define PHASED_LIB_SPEC_REHEARSAL_H

#include <jansson.h>

struct spec_problems;

enum {
    REHEARSAL_STEPS = 20,        /* where nothing else is asked for */
    REHEARSAL_STEPS_MAX = 1000,  /* a rehearsal is not a training */
    REHEARSAL_STEPS_S = 15 * 60, /* long enough for 20 slow steps and a compilation before them */
    REHEARSAL_BLIND_S = 60,
    REHEARSAL_RESUMED_STEPS = 5, /* enough to see that the run continues, and from where */
    REHEARSAL_TIME_S = 30 * 60,
};

/* Changes the resolved workflow. Adds warnings. */
void rehearsal_apply(json_t *workflow, unsigned steps, struct spec_problems *problems);

#endif
