/* Names of the states, and the tables of the moves between them. */
#include "daemon/core/state.h"

#include "lib/text.h"

#include <assert.h>
#include <stddef.h>

static const char *const phase_state_names[] = {
#define X(symbol, name, final) [PHASE_##symbol] = name,
    PHASE_STATES(X)
#undef X
};

static const bool phase_state_finals[] = {
#define X(symbol, name, final) [PHASE_##symbol] = final,
    PHASE_STATES(X)
#undef X
};

static const char *const phase_hold_names[] = {
#define X(symbol, name) [HOLD_##symbol] = name,
    PHASE_HOLDS(X)
#undef X
};

static const char *const run_state_names[] = {
#define X(symbol, name, final) [RUN_##symbol] = name,
    RUN_STATES(X)
#undef X
};

static const char *const run_outcome_names[] = {
#define X(symbol, name) [OUTCOME_##symbol] = name,
    RUN_OUTCOMES(X)
#undef X
};

static const char *const run_cause_names[] = {
#define X(symbol, name, retries) [CAUSE_##symbol] = name,
    RUN_CAUSES(X)
#undef X
};

static const unsigned char run_cause_retry_counts[] = {
#define X(symbol, name, retries) [CAUSE_##symbol] = retries,
    RUN_CAUSES(X)
#undef X
};

static const char *const remedy_resume_names[] = {
#define X(symbol, name) [REMEDY_##symbol] = name,
    REMEDY_RESUMES(X)
#undef X
};

#define BIT(state) (1U << (state))

/* A row a state: the states that may follow. A final state ends by a retry, of the phase or of a
 * phase before it, or by the next rung of a matrix. */
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
                   BIT(PHASE_CANCELLED) | BIT(PHASE_SKIPPED),
    [PHASE_SUCCEEDED] = BIT(PHASE_BLOCKED), /* a member that goes on to the next rung */
    [PHASE_FAILED] = BIT(PHASE_BLOCKED) | BIT(PHASE_QUEUED),
    [PHASE_CANCELLED] = BIT(PHASE_BLOCKED) | BIT(PHASE_QUEUED),
    [PHASE_SKIPPED] = BIT(PHASE_BLOCKED),
};

/* A lead may report before the submission is answered. If the daemon was away, the end of the run
 * may be the first that it learns. */
static const unsigned run_moves[RUN_STATE_COUNT] = {
    [RUN_SUBMITTING] = BIT(RUN_PENDING) | BIT(RUN_RUNNING) | BIT(RUN_ENDED),
    [RUN_PENDING] = BIT(RUN_STARTING) | BIT(RUN_RUNNING) | BIT(RUN_ENDED),
    [RUN_STARTING] = BIT(RUN_RUNNING) | BIT(RUN_ENDED),
    [RUN_RUNNING] = BIT(RUN_STOPPING) | BIT(RUN_ENDED),
    [RUN_STOPPING] = BIT(RUN_ENDED),
};

static int name_parse(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(names[i], name))
            return (int)i;
    return -1;
}

const char *phase_state_name(enum phase_state state)
{
    assert(state < PHASE_STATE_COUNT);
    return phase_state_names[state];
}

bool phase_state_is_final(enum phase_state state)
{
    assert(state < PHASE_STATE_COUNT);
    return phase_state_finals[state];
}

bool phase_move_is_allowed(enum phase_state from, enum phase_state to)
{
    assert(from < PHASE_STATE_COUNT && to < PHASE_STATE_COUNT);
    return phase_moves[from] & BIT(to);
}

const char *phase_hold_name(enum phase_hold hold)
{
    assert(hold < HOLD_COUNT);
    return phase_hold_names[hold];
}

const char *run_state_name(enum run_state state)
{
    assert(state < RUN_STATE_COUNT);
    return run_state_names[state];
}

bool run_move_is_allowed(enum run_state from, enum run_state to)
{
    assert(from < RUN_STATE_COUNT && to < RUN_STATE_COUNT);
    return run_moves[from] & BIT(to);
}

const char *run_outcome_name(enum run_outcome outcome)
{
    assert(outcome < OUTCOME_COUNT);
    return run_outcome_names[outcome];
}

const char *run_cause_name(enum run_cause cause)
{
    assert(cause < CAUSE_COUNT);
    return run_cause_names[cause];
}

unsigned run_cause_retries(enum run_cause cause)
{
    assert(cause < CAUSE_COUNT);
    return run_cause_retry_counts[cause];
}

const char *remedy_resume_name(enum remedy_resume resume)
{
    assert(resume < REMEDY_RESUME_COUNT);
    return remedy_resume_names[resume];
}

int phase_state_parse(const char *name)
{
    return name_parse(phase_state_names, PHASE_STATE_COUNT, name);
}

int phase_hold_parse(const char *name)
{
    return name_parse(phase_hold_names, HOLD_COUNT, name);
}

int run_state_parse(const char *name)
{
    return name_parse(run_state_names, RUN_STATE_COUNT, name);
}

int run_outcome_parse(const char *name)
{
    return name_parse(run_outcome_names, OUTCOME_COUNT, name);
}

int run_cause_parse(const char *name)
{
    return name_parse(run_cause_names, CAUSE_COUNT, name);
}

int remedy_resume_parse(const char *name)
{
    return name_parse(remedy_resume_names, REMEDY_RESUME_COUNT, name);
}
