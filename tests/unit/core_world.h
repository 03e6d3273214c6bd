/* A core with one workflow, and what it wants done, for the core's unit tests: events go in by
 * name, and everything that comes out becomes lines of text that a test compares. */
#ifndef PHASED_TESTS_UNIT_CORE_WORLD_H
#define PHASED_TESTS_UNIT_CORE_WORLD_H

#include "daemon/core/core.h"
#include "lib/text.h"

struct world {
    struct core *core;
    struct workflow *workflow;
    struct core_effects effects;
    struct text trace; /* effects since the last world_trace(), a line each */
    int64_t now_ms;
    uint64_t tokens;
};

/* Two phases as in the TRM guide, `validate` and `production` after it, of equal shape: 1 node, 8
 * GPUs, an hour each, with checkpoints; both can be changed before world_begin(). */
void world_init(struct world *world);
void world_fini(struct world *world);
/* For cmocka: each such test has one as its state. */
int world_setup(void **state);
int world_teardown(void **state);
#define WORLD_TEST(function) cmocka_unit_test_setup_teardown(function, world_setup, world_teardown)
/* Steps EV_ADDED. */
void world_begin(struct world *world, bool hold);

struct phase *world_phase(struct world *world, const char *name);
/* Events about the newest run of the phase, or its job. */
void world_event(struct world *world, enum core_event_kind kind, const char *phase);
void world_step(struct world *world, struct core_event event);
/* Its newest run is submitted and begins; nothing of that is in the trace. */
void world_runs(struct world *world, const char *phase);
void world_seen(struct world *world, const char *phase, const char *state, bool is_final);
void world_ended(struct world *world, const char *phase, enum run_outcome outcome,
                 enum run_cause cause, int64_t step);
void world_judged(struct world *world, const char *phase, enum gate_result gate);
void world_command(struct world *world, const char *phase, enum core_command command);
void world_wait(struct world *world, int64_t ms); /* EV_TIME afterwards */

/* The lines since the last call: moves as "validate: queued -> active", "validate#1: pending ->
 * running", effects to carry out as "submit validate#1", without saves and what is done. Borrowed
 * until the next call. */
const char *world_trace(struct world *world);

#endif
