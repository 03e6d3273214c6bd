/* The states of phases and runs, the words for how runs end, and the moves between states.
 *
 * Everything that names a state is generated from these rows, or tested against them: the enums,
 * the stored names, the CHECKs in schema/, the diagram in README.md. */
#ifndef PHASED_DAEMON_CORE_STATE_H
#define PHASED_DAEMON_CORE_STATE_H

#include <stdbool.h>

/* {symbol, stored name, whether it is final} */
#define PHASE_STATES(X)                                                                            \
    X(BLOCKED, "blocked", false)    /* a phase before it has not succeeded yet */                  \
    X(QUEUED, "queued", false)      /* its run waits for an allocation, or to be submitted */      \
    X(ACTIVE, "active", false)      /* its run holds an allocation */                              \
    X(DECIDING, "deciding", false)  /* its run has ended; the gate or a remedy is worked out */    \
    X(HELD, "held", false)          /* a person decides; `hold` says about what */                 \
    X(SUCCEEDED, "succeeded", true) /* the gate passed, or a person said so */                     \
    X(FAILED, "failed", true)                                                                      \
    X(CANCELLED, "cancelled", true)                                                                \
    X(SKIPPED, "skipped", true) /* a phase before it did not succeed */

enum phase_state {
#define X(symbol, name, final) PHASE_##symbol,
    PHASE_STATES(X)
#undef X
        PHASE_STATE_COUNT
};

/* Why a phase is held. That says which command lets it go on. */
#define PHASE_HOLDS(X)                                                                             \
    X(NONE, "none")                                                                                \
    X(USER, "user")         /* a person asked for it, at submission or later: release */           \
    X(MANUAL, "manual")     /* the gate passed, and `promote: manual`: promote */                  \
    X(GATE, "gate")         /* the gate failed: promote, or retry */                               \
    X(FAILURE, "failure")   /* a run failed: retry */                                              \
    X(PROGRESS, "progress") /* three resumptions in a row without a new step: retry */

enum phase_hold {
#define X(symbol, name) HOLD_##symbol,
    PHASE_HOLDS(X)
#undef X
        HOLD_COUNT
};

#define RUN_STATES(X)                                                                              \
    X(SUBMITTING, "submitting", false) /* the intent is recorded; a job may or may not exist */    \
    X(PENDING, "pending", false)       /* Slurm knows the job, which waits */                      \
    X(STARTING, "starting", false)     /* the job runs; the lead has not reported */               \
    X(RUNNING, "running", false)       /* the lead has reported */                                 \
    X(STOPPING, "stopping", false)     /* told to stop, or stopping by itself */                   \
    X(ENDED, "ended", true)            /* with exactly one outcome */

enum run_state {
#define X(symbol, name, final) RUN_##symbol,
    RUN_STATES(X)
#undef X
        RUN_STATE_COUNT
};

#define RUN_OUTCOMES(X)                                                                            \
    X(NONE, "none")                                                                                \
    X(SUCCEEDED, "succeeded")                                                                      \
    X(FAILED, "failed")                                                                            \
    X(PREEMPTED, "preempted")                                                                      \
    X(TIMED_OUT, "timed_out")                                                                      \
    X(CANCELLED, "cancelled")                                                                      \
    X(LOST, "lost")

enum run_outcome {
#define X(symbol, name) OUTCOME_##symbol,
    RUN_OUTCOMES(X)
#undef X
        OUTCOME_COUNT
};

/* {symbol, name, how many failures of this cause are followed by another run before a person is
 * asked} */
#define RUN_CAUSES(X)                                                                              \
    X(NONE, "none", 0)                                                                             \
    X(EXIT, "exit", 0)                                                                             \
    X(OOM, "oom", 0)                                                                               \
    X(NAN, "nan", 0)                                                                               \
    X(GUARD, "guard", 0)                                                                           \
    X(HANG, "hang", 2)                                                                             \
    X(PREFLIGHT, "preflight", 5)                                                                   \
    X(NODE_FAIL, "node_fail", 5)                                                                   \
    X(LAUNCH, "launch", 3)

enum run_cause {
#define X(symbol, name, retries) CAUSE_##symbol,
    RUN_CAUSES(X)
#undef X
        CAUSE_COUNT
};

/* From where a run goes on that a remedy began. */
#define REMEDY_RESUMES(X)                                                                          \
    X(CHECKPOINT, "checkpoint") /* the newest whole checkpoint */                                  \
    X(START, "start")           /* the start: no checkpoint counts any more */                     \
    X(PREVIOUS, "previous")     /* the checkpoint before the newest one */

enum remedy_resume {
#define X(symbol, name) REMEDY_##symbol,
    REMEDY_RESUMES(X)
#undef X
        REMEDY_RESUME_COUNT
};

enum {
    LOST_RETRIES_MAX = 3,
    STALLED_RESUMES_MAX = 3, /* resumptions in a row without a new step, before the phase is held */
};

const char *phase_state_name(enum phase_state state);
bool phase_state_is_final(enum phase_state state);
bool phase_move_is_allowed(enum phase_state from, enum phase_state to);
const char *phase_hold_name(enum phase_hold hold);

const char *run_state_name(enum run_state state);
bool run_move_is_allowed(enum run_state from, enum run_state to);
const char *run_outcome_name(enum run_outcome outcome);
const char *run_cause_name(enum run_cause cause);
unsigned run_cause_retries(enum run_cause cause);
const char *remedy_resume_name(enum remedy_resume resume);

/* The value that a stored name stands for, or -1. */
int phase_state_parse(const char *name);
int phase_hold_parse(const char *name);
int run_state_parse(const char *name);
int run_outcome_parse(const char *name);
int run_cause_parse(const char *name);
int remedy_resume_parse(const char *name);

#endif
