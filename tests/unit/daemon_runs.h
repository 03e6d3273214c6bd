/* What the workers of a phase leave and report, for tests of a daemon. The phase is `a` of the
 * first workflow. It has one node, and its first run is in job 101. */
#ifndef PHASED_TESTS_DAEMON_RUNS_H
#define PHASED_TESTS_DAEMON_RUNS_H

#include "tests/unit/daemon_world.h"

#include <stdbool.h>

extern const char one_phase[]; /* the workflow file */

char *started(unsigned restarts);
/* Returns the path of the checkpoint of a step; valid until the next call. */
const char *run_checkpoint_path(const struct world *world, unsigned step);
/* Makes a checkpoint of four bytes. Returns the entry in which its node reports it. */
char *checkpoint(const struct world *world, unsigned sequence, unsigned step);
/* Returns an outcome, a failure by an exit code; the lead's entry `ended` if `sequence` is not 0.
 */
char *ended(unsigned sequence, const char *outcome, unsigned step, bool requeues);
void push(struct world *world, const char *run, const char *node, char *take_entry, long sequence);
void leave(struct world *world, const char *folder, const char *name, char *take_text);
/* The first attempt runs in job 101 and has written a checkpoint at step 10. */
void run_first_attempt(struct world *world);
/* The same of another workflow file, which has a phase `a` with these checkpoints. */
void run_first_attempt_of(struct world *world, const char *spec);
void expect_run(struct world *world, unsigned attempt, const char *member, const char *text);
void expect_next(struct world *world, const char *of, const char *run);

#endif
