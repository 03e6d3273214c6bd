/* The tables of the moves between states. */
#include "daemon/core/state.h"

#include <assert.h>

#define BIT(state) (1U << (state))

/* A row for each state: the states that may follow. A final state ends by a retry of the phase or
 * of a phase before it, or by the next rung of a matrix. */
static const unsigned phase_moves[PHASE_STATE_COUNT] = {
    [PHASE_BLOCKED] = BIT(PHASE_QUEUED) | BIT(PHASE_HELD) | BIT(PHASE_CANCELLED) |
                      BIT(PHASE_SKIPPED) | BIT(PHASE_DECIDING) | BIT(PHASE_FAILED) | /* a matrix */
                      BIT(PHASE_SUCCEEDED), /* a member whose results are known */
    [PHASE_QUEUED] = BIT(PHASE_ACTIVE) | BIT(PHASE_DECIDING) | BIT(PHASE_HELD) | BIT(PHASE_FAILED) |
                     BIT(PHASE_CANCELLED),
    [PHASE_ACTIVE] = BIT(PHASE_QUEUED) | BIT(PHASE_DECIDING) | BIT(PHASE_HELD) | BIT(PHASE_FAILED) |
                     BIT(PHASE_CANCELLED),
    [PHASE_DECIDING] = BIT(PHASE_BLOCKED) | BIT(PHASE_QUEUED) | BIT(PHASE_SUCCEEDED) |
                       BIT(PHASE_HELD) | BIT(PHASE_FAILED) | BIT(PHASE_CANCELLED),
    [PHASE_HELD] = BIT(PHASE_BLOCKED) | BIT(PHASE_QUEUED) | BIT(PHASE_SUCCEEDED) |
                   BIT(PHASE_FAILED) | BIT(PHASE_CANCELLED) | BIT(PHASE_SKIPPED),
    [PHASE_SUCCEEDED] = BIT(PHASE_BLOCKED), /* a member that goes on to the next rung */
    [PHASE_FAILED] = BIT(PHASE_BLOCKED) | BIT(PHASE_QUEUED) | BIT(PHASE_SKIPPED),
    [PHASE_CANCELLED] = BIT(PHASE_BLOCKED) | BIT(PHASE_QUEUED) | BIT(PHASE_SKIPPED),
    [PHASE_SKIPPED] = BIT(PHASE_BLOCKED) | BIT(PHASE_HELD),
};

/* A lead may report before the submission is answered. If the daemon was away, the end of the run
 * may be the first thing that it learns. */
static const unsigned run_moves[RUN_STATE_COUNT] = {
    [RUN_SUBMITTING] = BIT(RUN_PENDING) | BIT(RUN_RUNNING) | BIT(RUN_ENDED),
    [RUN_PENDING] = BIT(RUN_STARTING) | BIT(RUN_RUNNING) | BIT(RUN_ENDED),
    [RUN_STARTING] = BIT(RUN_PENDING) | BIT(RUN_RUNNING) | BIT(RUN_ENDED),
    [RUN_RUNNING] = BIT(RUN_STOPPING) | BIT(RUN_ENDED),
    [RUN_STOPPING] = BIT(RUN_ENDED),
};

static const unsigned char cause_retries[CAUSE_COUNT] = {
    [CAUSE_HANG] = 2,
    [CAUSE_PREFLIGHT] = 5,
    [CAUSE_NODE_FAIL] = 5,
    [CAUSE_LAUNCH] = 3,
};

bool phase_move_is_allowed(enum phase_state from, enum phase_state to)
{
    assert(from < PHASE_STATE_COUNT && to < PHASE_STATE_COUNT);
    return phase_moves[from] & BIT(to);
}

bool run_move_is_allowed(enum run_state from, enum run_state to)
{
    assert(from < RUN_STATE_COUNT && to < RUN_STATE_COUNT);
    return run_moves[from] & BIT(to);
}

unsigned run_cause_retries(enum run_cause cause)
{
    assert(cause < CAUSE_COUNT);
    return cause_retries[cause];
}
