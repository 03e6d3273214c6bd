/* The words that daemon, workers, command line and record share: the states of workflows, phases
 * and runs, how and why runs end, the entries of journals, the commands for leads, and what leads
 * and their agents tell each other.
 *
 * These rows generate the enums and the stored names. Tests compare the CHECKs in schema/ and the
 * diagram in daemon/core/README.md with the rows. */
#ifndef PHASED_LIB_PROTOCOL_WORDS_H
#define PHASED_LIB_PROTOCOL_WORDS_H

#include "lib/protocol/job_state.h"

#include <stdbool.h>
#include <stddef.h>

/* {symbol, name, whether it is final}. The state of a workflow follows from the states of its
 * phases (v_workflow in schema/). */
#define WORKFLOW_STATES(X)                                                                         \
    X(RUNNING, "running", false) /* phased works on a phase, or waits for Slurm */                 \
    X(HELD, "held", false)       /* a phase is held, and no phase moves */                         \
    X(SUCCEEDED, "succeeded", true)                                                                \
    X(FAILED, "failed", true)                                                                      \
    X(CANCELLED, "cancelled", true)

enum workflow_state {
#define X(symbol, name, final) WORKFLOW_##symbol,
    WORKFLOW_STATES(X)
#undef X
        WORKFLOW_STATE_COUNT
};

/* {symbol, stored name, whether it is final} */
#define PHASE_STATES(X)                                                                            \
    X(BLOCKED, "blocked", false)    /* a phase before it has not succeeded yet */                  \
    X(QUEUED, "queued", false)      /* its run waits for an allocation, or to be submitted */      \
    X(ACTIVE, "active", false)      /* its run holds an allocation */                              \
    X(DECIDING, "deciding", false)  /* its run has ended; the gate or a remedy is evaluated */     \
    X(HELD, "held", false)          /* a person must decide; `hold` says why */                    \
    X(SUCCEEDED, "succeeded", true) /* the gate passed, or a person said so */                     \
    X(FAILED, "failed", true)                                                                      \
    X(CANCELLED, "cancelled", true)                                                                \
    X(SKIPPED, "skipped", true) /* a phase before it has not succeeded */

enum phase_state {
#define X(symbol, name, final) PHASE_##symbol,
    PHASE_STATES(X)
#undef X
        PHASE_STATE_COUNT
};

/* Why a phase is held. The comments end with the commands that may end the hold. `cancel` ends each
 * hold, and `resume` each hold but MANUAL. */
#define PHASE_HOLDS(X)                                                                             \
    X(NONE, "none")                                                                                \
    X(USER, "user")         /* a person or the worker has asked for it: release */                 \
    X(MANUAL, "manual")     /* the gate passed, and `promote: manual`: promote */                  \
    X(GATE, "gate")         /* the gate failed: promote, or retry */                               \
    X(FAILURE, "failure")   /* a run failed: retry */                                              \
    X(PROGRESS, "progress") /* the runs do not advance: retry, or resume */

enum phase_hold {
#define X(symbol, name) HOLD_##symbol,
    PHASE_HOLDS(X)
#undef X
        HOLD_COUNT
};

/* What a gate says of a run. */
#define GATE_RESULTS(X)                                                                            \
    X(PASSED, "passed")                                                                            \
    X(FAILED, "failed")                                                                            \
    X(INSUFFICIENT, "insufficient") /* the run has no data for some checks */                      \
    X(INCOMPLETE, "incomplete")     /* the record lacks a part of what the run told */

enum gate_result {
#define X(symbol, name) GATE_##symbol,
    GATE_RESULTS(X)
#undef X
        GATE_RESULT_COUNT
};

/* The budget that is spent, so that a phase is held. */
#define BUDGETS(X)                                                                                 \
    X(NONE, "none")                                                                                \
    X(WORKFLOW, "workflow")                                                                        \
    X(MONTH, "month") /* in limits.yaml, of all workflows */

enum budget {
#define X(symbol, name) BUDGET_##symbol,
    BUDGETS(X)
#undef X
        BUDGET_COUNT
};

#define RUN_STATES(X)                                                                              \
    X(SUBMITTING, "submitting", false) /* the intent is recorded; a job may or may not exist */    \
    X(PENDING, "pending", false)       /* the job is known to Slurm and waits */                   \
    X(STARTING, "starting", false)     /* the allocation is there; the lead has not reported */    \
    X(RUNNING, "running", false)       /* the lead has reported */                                 \
    X(STOPPING, "stopping", false)     /* told to stop, or stopping by itself */                   \
    X(ENDED, "ended", true)            /* with exactly one outcome */

enum run_state {
#define X(symbol, name, final) RUN_##symbol,
    RUN_STATES(X)
#undef X
        RUN_STATE_COUNT
};

/* How a run ended. */
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

/* Why a run failed. */
#define RUN_CAUSES(X)                                                                              \
    X(NONE, "none")                                                                                \
    X(EXIT, "exit")                                                                                \
    X(OOM, "oom")                                                                                  \
    X(NAN, "nan")                                                                                  \
    X(GUARD, "guard")                                                                              \
    X(HANG, "hang")                                                                                \
    X(PREFLIGHT, "preflight")                                                                      \
    X(NODE_FAIL, "node_fail")                                                                      \
    X(LAUNCH, "launch")

enum run_cause {
#define X(symbol, name) CAUSE_##symbol,
    RUN_CAUSES(X)
#undef X
        CAUSE_COUNT
};

/* Who is to blame for a failure that was recognised. */
#define FAILURE_BLAMES(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(NODE, "node") /* new jobs do not use it */                                                   \
    X(CODE, "code") /* the code or its params */

enum failure_blame {
#define X(symbol, name) BLAME_##symbol,
    FAILURE_BLAMES(X)
#undef X
        BLAME_COUNT
};

/* What a line of history is about. */
#define EVENT_TYPES(X)                                                                             \
    X(WORKFLOW, "workflow")                                                                        \
    X(PHASE, "phase")                                                                              \
    X(RUN, "run")                                                                                  \
    X(GATE, "gate")                                                                                \
    X(PROMOTION, "promotion")                                                                      \
    X(GUARD, "guard")                                                                              \
    X(CHECKPOINT, "checkpoint")                                                                    \
    X(WARNING, "warning")

enum event_type {
#define X(symbol, name) EVENT_##symbol,
    EVENT_TYPES(X)
#undef X
        EVENT_TYPE_COUNT
};

/* What a preflight finds about a node. */
#define PREFLIGHT_OUTCOMES(X)                                                                      \
    X(PASSED, "passed")                                                                            \
    X(FAILED, "failed")                                                                            \
    X(UNKNOWN, "could not tell")

enum preflight_outcome {
#define X(symbol, name) PREFLIGHT_##symbol,
    PREFLIGHT_OUTCOMES(X)
#undef X
        PREFLIGHT_OUTCOME_COUNT
};

/* Where the run after a remedy begins. */
#define REMEDY_RESUMES(X)                                                                          \
    X(CHECKPOINT, "checkpoint") /* at the newest whole checkpoint */                               \
    X(START, "start")           /* at step 0: earlier checkpoints do not count */                  \
    X(PREVIOUS, "previous")     /* at the checkpoint before the newest */

enum remedy_resume {
#define X(symbol, name) REMEDY_##symbol,
    REMEDY_RESUMES(X)
#undef X
        REMEDY_RESUME_COUNT
};

/* Why a lead stops its run, and how the run ends then. */
#define STOP_REASONS(X)                                                                            \
    X(PREEMPTED, "preempted", OUTCOME_PREEMPTED, CAUSE_NONE)                                       \
    X(TIMED_OUT, "timed_out", OUTCOME_TIMED_OUT, CAUSE_NONE)                                       \
    X(CANCELLED, "cancelled", OUTCOME_CANCELLED, CAUSE_NONE)                                       \
    X(HELD, "held", OUTCOME_CANCELLED, CAUSE_NONE)                                                 \
    X(OVER, "over", OUTCOME_CANCELLED, CAUSE_NONE) /* for the daemon, the run has ended */         \
    X(UNTIL, "until", OUTCOME_SUCCEEDED, CAUSE_NONE)                                               \
    X(GUARD, "guard", OUTCOME_FAILED, CAUSE_GUARD)                                                 \
    X(NAN, "nan", OUTCOME_FAILED, CAUSE_NAN)                                                       \
    X(HANG, "hang", OUTCOME_FAILED, CAUSE_HANG)                                                    \
    X(EXIT, "exit", OUTCOME_FAILED, CAUSE_EXIT) /* a rank failed */                                \
    X(PREFLIGHT, "preflight", OUTCOME_FAILED, CAUSE_PREFLIGHT)                                     \
    X(LAUNCH, "launch", OUTCOME_FAILED, CAUSE_LAUNCH)

enum stop_reason {
#define X(symbol, name, outcome, cause) STOP_##symbol,
    STOP_REASONS(X)
#undef X
        STOP_REASON_COUNT
};

/* The entries of a journal (doc/protocol.md): {symbol, name, whether entries of this type may be
 * lost when too many wait for a full disk} */
#define ENTRY_TYPES(X)                                                                             \
    X(STARTED, "started", false)                                                                   \
    X(PREFLIGHT, "preflight", false)                                                               \
    X(RANKS, "ranks", false)                                                                       \
    X(METRIC, "metric", true)                                                                      \
    X(CHECKPOINT, "checkpoint", false)                                                             \
    X(GUARD, "guard", false)                                                                       \
    X(SUSPECT, "suspect", false)                                                                   \
    X(WARNING, "warning", false)                                                                   \
    X(STOPPING, "stopping", false)                                                                 \
    X(EXITED, "exited", false)                                                                     \
    X(ENDED, "ended", false)                                                                       \
    X(EVIDENCE, "evidence", false)                                                                 \
    X(GPUS, "gpus", false)                                                                         \
    X(SAMPLE, "sample", true)                                                                      \
    X(PACE, "pace", true)                                                                          \
    X(LOST, "lost", false)

enum entry_type {
#define X(symbol, name, may_be_lost) ENTRY_##symbol,
    ENTRY_TYPES(X)
#undef X
        ENTRY_TYPE_COUNT
};

/* The commands of the daemon for a lead. */
#define LEAD_VERBS(X)                                                                              \
    X(STOP, "stop") /* stop the run */                                                             \
    X(NEXT, "next") /* begin another run, in the same allocation */                                \
    X(END, "end")   /* no other run follows */

enum lead_verb {
#define X(symbol, name) VERB_##symbol,
    LEAD_VERBS(X)
#undef X
        LEAD_VERB_COUNT
};

/* The commands of a lead for its agents (worker/node/agent.h): {symbol, name, whether an argument
 * follows} */
#define AGENT_COMMANDS(X)                                                                          \
    X(START, "start", true)                                                                        \
    X(GO, "go", false)                                                                             \
    X(STOP, "stop", true)                                                                          \
    X(RELAY, "relay", true)                                                                        \
    X(EXPECT, "expect", true)                                                                      \
    X(KILL, "kill", false)                                                                         \
    X(EXAMINE, "examine", false)                                                                   \
    X(EVIDENCE, "evidence", false)                                                                 \
    X(SUSPECT, "suspect", false)                                                                   \
    X(NUMBERED, "numbered", false)                                                                 \
    X(JOIN, "join", false)                                                                         \
    X(FINISH, "finish", false)                                                                     \
    X(END, "end", false)

enum agent_command {
#define X(symbol, name, has_argument) AGENT_##symbol,
    AGENT_COMMANDS(X)
#undef X
        AGENT_COMMAND_COUNT
};

/* The reports of agents to their lead (report.h). */
#define AGENT_REPORTS(X)                                                                           \
    X(READY, "ready")                                                                              \
    X(TERMINATED, "terminated")                                                                    \
    X(STARTED, "started")                                                                          \
    X(SUPERSEDED, "superseded")                                                                    \
    X(GONE, "gone")                                                                                \
    X(ENDED, "ended")                                                                              \
    X(EXAMINED, "examined")                                                                        \
    X(PREFLIGHT, "preflight")                                                                      \
    X(GUARD, "guard")                                                                              \
    X(PACE, "pace")                                                                                \
    X(SILENT, "silent")                                                                            \
    X(FAILED, "failed")                                                                            \
    X(CANNOT_START, "cannot_start")

enum agent_report {
#define X(symbol, name) REPORT_##symbol,
    AGENT_REPORTS(X)
#undef X
        AGENT_REPORT_COUNT
};

const char *workflow_state_name(enum workflow_state value);
bool workflow_state_is_final(enum workflow_state value);
const char *phase_state_name(enum phase_state value);
bool phase_state_is_final(enum phase_state value);
const char *phase_hold_name(enum phase_hold value);
const char *gate_result_name(enum gate_result value);
const char *budget_name(enum budget value);
const char *run_state_name(enum run_state value);
const char *run_outcome_name(enum run_outcome value);
const char *run_cause_name(enum run_cause value);
const char *failure_blame_name(enum failure_blame value);
const char *cluster_job_state_name(enum cluster_job_state value);
bool cluster_job_state_is_final(enum cluster_job_state value);
const char *preflight_outcome_name(enum preflight_outcome value);
const char *event_type_name(enum event_type value);
const char *remedy_resume_name(enum remedy_resume value);
const char *stop_reason_name(enum stop_reason value);
enum run_outcome stop_reason_outcome(enum stop_reason value);
enum run_cause stop_reason_cause(enum stop_reason value);
const char *entry_type_name(enum entry_type value);
bool entry_type_may_be_lost(enum entry_type value);
const char *lead_verb_name(enum lead_verb value);
const char *agent_command_name(enum agent_command value);
bool agent_command_has_argument(enum agent_command value);
const char *agent_report_name(enum agent_report value);

/* The tables of names, for the rows of lib/protocol/members.h. */
extern const char *const run_outcome_names[], *const run_cause_names[], *const stop_reason_names[];
extern const char *const failure_blame_names[];
extern const char *const entry_type_names[], *const lead_verb_names[], *const agent_report_names[];

/* The value of a name, or -1. The name may be NULL. */
int word_parse(const char *const *names, size_t count, const char *name);
int workflow_state_parse(const char *name);
int phase_state_parse(const char *name);
int phase_hold_parse(const char *name);
int gate_result_parse(const char *name);
int budget_parse(const char *name);
int run_state_parse(const char *name);
int run_outcome_parse(const char *name);
int run_cause_parse(const char *name);
int failure_blame_parse(const char *name);
int cluster_job_state_parse(const char *name);
int preflight_outcome_parse(const char *name);
int event_type_parse(const char *name);
int remedy_resume_parse(const char *name);
int stop_reason_parse(const char *name);
int entry_type_parse(const char *name);
int lead_verb_parse(const char *name);
int agent_command_parse(const char *name);
int agent_report_parse(const char *name);

#endif
