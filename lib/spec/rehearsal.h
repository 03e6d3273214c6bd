/* A rehearsal: the whole workflow, each phase for a few steps, on the allocations that the real one
 * will get. Made of the resolved workflow, so that it is what the real one would be but for these
 * differences:
 *
 *   - a phase that counts steps is ended well, by `until`, after its share of steps: `steps` of its
 *     own, and as many for each phase before it, as it may go on with that one's count; or after
 *     REHEARSAL_STEPS_S. One that counts none is ended after REHEARSAL_BLIND_S.
 *   - a phase with a checkpoint is run once more from it, for REHEARSAL_RESUMED_STEPS: whoever ends
 *     well by `until` goes on, where there is `until_resumed`, which ends such a run. That counts
 *     steps from the checkpoint, as nobody knows how far the first run got while it was stopped.
 *   - a phase with `outputs`, `shard` or `join` runs whole, with a warning: who needs its results
 *     needs all of them.
 *   - a matrix is a phase like others, with the params of its first member (lib/spec/matrix.h).
 *   - checks of gates warn, and every phase promotes: a few steps prove nothing.
 *   - no remedies; what fails has failed. `time` is cut to REHEARSAL_TIME_S.
 */
#ifndef PHASED_LIB_SPEC_REHEARSAL_H
#define PHASED_LIB_SPEC_REHEARSAL_H

#include <jansson.h>

struct spec_problems;

enum {
    REHEARSAL_STEPS = 20,        /* where nothing else is asked for */
    REHEARSAL_STEPS_MAX = 1000,  /* a rehearsal is no training */
    REHEARSAL_STEPS_S = 15 * 60, /* long enough for 20 slow steps and a compilation before them */
    REHEARSAL_BLIND_S = 60,
    REHEARSAL_RESUMED_STEPS = 5, /* enough to see that it goes on, and from where */
    REHEARSAL_TIME_S = 30 * 60,
};

/* Changes the resolved workflow. Adds warnings. */
void rehearsal_apply(json_t *workflow, unsigned steps, struct spec_problems *problems);

#endif
