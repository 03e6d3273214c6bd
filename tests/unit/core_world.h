/* A core with one workflow, for the unit tests of the core. Events go in by name, and all effects
 * become lines of text that a test compares. */
#ifndef PHASED_TESTS_UNIT_CORE_WORLD_H
#define PHASED_TESTS_UNIT_CORE_WORLD_H

#include "daemon/core/core.h"
#include "lib/text.h"

struct world {
    struct core *core;
    struct workflow *workflow;
    struct core_effects effects;
    struct text trace; /* the effects since the last world_trace(), one a line */
    int64_t now_ms;
    uint64_t tokens;
};

/* Two phases as in the TRM guide: `validate`, and `production` after it. Both have 1 node with 8
 * GPUs for an hour, and checkpoints. A test may change them before world_begin(). */
void world_init(struct world *world);
void world_fini(struct world *world);
/* For cmocka: the state of each test is a world. */
int core_world_setup(void **state);
int core_world_teardown(void **state);
#define WORLD_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, core_world_setup, core_world_teardown)
/* Steps EV_ADDED. */
void world_begin(struct world *world, bool hold);

struct phase *world_phase(struct world *world, const char *name);
/* Events about the newest run of the phase, or about its job. */
void world_event(struct world *world, enum core_event_kind kind, const char *phase);
void world_step(struct world *world, struct core_event event);
/* Submits and begins the newest run of the phase. The trace has nothing of that. */
void world_runs(struct world *world, const char *phase);
void world_seen(struct world *world, const char *phase, const char *state, bool is_final);
void world_ended(struct world *world, const char *phase, enum run_outcome outcome,
                 enum run_cause cause, int64_t step);
/* The newest run is preempted at this step, and its lead has the job requeued. */
void world_requeues(struct world *world, const char *phase, int64_t step);
void world_judged(struct world *world, const char *phase, enum gate_result gate);
void world_command(struct world *world, const char *phase, enum phase_command command);
void world_wait(struct world *world, int64_t ms); /* EV_TIME after this time */

/* Returns the lines since the last call: moves such as "validate: queued -> active" or "validate#1:
 * pending -> running", and effects such as "submit validate#1". Saves and finished effects are left
 * out. Borrowed until the next call. */
const char *world_trace(struct world *world);

#endif
