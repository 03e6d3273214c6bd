/* The words that daemon, workers, command line and record share: the states of workflows, phases
 * and runs, the commands of people, how and why runs end, the entries of journals, the commands for
 * leads, and what leads and their agents tell each other.
 *
 * These rows generate the enums and the stored names. A test compares the CHECKs in schema/ with
 * the rows. */
#ifndef PHASED_LIB_PROTOCOL_WORDS_H
#define PHASED_LIB_PROTOCOL_WORDS_H

#include "lib/protocol/job_state.h"

#include <stdbool.h>
#include <stddef.h>

/* Declares two functions: the name of a value, and the value of a name. The name may be NULL. The
 * value is -1 if the name is not such a word. */
#define WORD_FUNCTIONS(object)                                                                     \
    const char *object##_name(enum object value);                                                  \
    int object##_parse(const char *name)

WORD_FUNCTIONS(cluster_job_state);
bool cluster_job_state_is_final(enum cluster_job_state value);

/* {symbol, name, whether it is final}. The state of a workflow follows from the states of its
 * phases (v_workflow in schema/). */
#define WORKFLOW_STATES(X)                                                                         \
    X(WORKFLOW_RUNNING, "running", false) /* phased works on a phase, or waits for Slurm */        \
    X(WORKFLOW_HELD, "held", false)       /* a phase is held, and no phase moves */                \
    X(WORKFLOW_SUCCEEDED, "succeeded", true)                                                       \
    X(WORKFLOW_FAILED, "failed", true)                                                             \
    X(WORKFLOW_CANCELLED, "cancelled", true)

enum workflow_state { WORKFLOW_STATES(WORD_SYMBOL) WORKFLOW_STATE_COUNT };
WORD_FUNCTIONS(workflow_state);
bool workflow_state_is_final(enum workflow_state value);

/* {symbol, stored name, whether it is final} */
#define PHASE_STATES(X)                                                                            \
    X(PHASE_BLOCKED, "blocked", false)   /* a phase before it has not succeeded yet */             \
    X(PHASE_QUEUED, "queued", false)     /* its run waits for an allocation, or to be submitted */ \
    X(PHASE_ACTIVE, "active", false)     /* its run holds an allocation */                         \
    X(PHASE_DECIDING, "deciding", false) /* its run ended; the gate or a remedy is evaluated */    \
    X(PHASE_HELD, "held", false)         /* a person must decide; `hold` says why */               \
    X(PHASE_SUCCEEDED, "succeeded", true) /* the gate passed, or a person said so */               \
    X(PHASE_FAILED, "failed", true)                                                                \
    X(PHASE_CANCELLED, "cancelled", true)                                                          \
    X(PHASE_SKIPPED, "skipped", true) /* a phase before it has not succeeded */

enum phase_state { PHASE_STATES(WORD_SYMBOL) PHASE_STATE_COUNT };
WORD_FUNCTIONS(phase_state);
bool phase_state_is_final(enum phase_state value);

/* Why a phase is held. The comments end with the commands that may end the hold. `cancel` ends each
 * hold, and `resume` each hold but HOLD_MANUAL. */
#define PHASE_HOLDS(X)                                                                             \
    X(HOLD_NONE, "none")                                                                           \
    X(HOLD_USER, "user")         /* a person or the worker has asked for it: release */            \
    X(HOLD_MANUAL, "manual")     /* the gate passed, and `promote: manual`: promote */             \
    X(HOLD_GATE, "gate")         /* the gate failed: promote, or retry */                          \
    X(HOLD_FAILURE, "failure")   /* a run failed: retry */                                         \
    X(HOLD_PROGRESS, "progress") /* the runs do not advance: retry, or resume */

enum phase_hold { PHASE_HOLDS(WORD_SYMBOL) HOLD_COUNT };
WORD_FUNCTIONS(phase_hold);

/* What people ask the daemon to do with phases: verbs of phasectl, and paths of the API. */
#define PHASE_COMMANDS(X)                                                                          \
    X(COMMAND_PROMOTE, "promote")                                                                  \
    X(COMMAND_HOLD, "hold")                                                                        \
    X(COMMAND_RELEASE, "release")                                                                  \
    X(COMMAND_RESUME, "resume")                                                                    \
    X(COMMAND_CANCEL, "cancel")                                                                    \
    X(COMMAND_RETRY, "retry")

enum phase_command { PHASE_COMMANDS(WORD_SYMBOL) COMMAND_COUNT };
WORD_FUNCTIONS(phase_command);

/* What a gate says of a run. */
#define GATE_RESULTS(X)                                                                            \
    X(GATE_PASSED, "passed")                                                                       \
    X(GATE_FAILED, "failed")                                                                       \
    X(GATE_INSUFFICIENT, "insufficient") /* the run has no data for some checks */                 \
    X(GATE_INCOMPLETE, "incomplete")     /* the record lacks a part of what the run told */

enum gate_result { GATE_RESULTS(WORD_SYMBOL) GATE_RESULT_COUNT };
WORD_FUNCTIONS(gate_result);

/* The budget that is spent, so that a phase is held. */
#define BUDGETS(X)                                                                                 \
    X(BUDGET_NONE, "none")                                                                         \
    X(BUDGET_WORKFLOW, "workflow")                                                                 \
    X(BUDGET_MONTH, "month") /* in limits.yaml, of all workflows */

enum budget { BUDGETS(WORD_SYMBOL) BUDGET_COUNT };
WORD_FUNCTIONS(budget);

#define RUN_STATES(X)                                                                              \
    X(RUN_SUBMITTING, "submitting", false) /* the intent is recorded; there may be a job */        \
    X(RUN_PENDING, "pending", false)       /* the job is known to Slurm and waits */               \
    X(RUN_STARTING, "starting", false) /* the allocation is there; the lead has not reported */    \
    X(RUN_RUNNING, "running", false)   /* the lead has reported */                                 \
    X(RUN_STOPPING, "stopping", false) /* told to stop, or stopping by itself */                   \
    X(RUN_ENDED, "ended", true)        /* with exactly one outcome */

enum run_state { RUN_STATES(WORD_SYMBOL) RUN_STATE_COUNT };
WORD_FUNCTIONS(run_state);

/* What somebody wants of a run that has not ended. */
#define RUN_WISHES(X)                                                                              \
    X(WISH_NONE, "none")                                                                           \
    X(WISH_CANCEL, "cancel")                                                                       \
    X(WISH_HOLD, "hold")

enum run_wish { RUN_WISHES(WORD_SYMBOL) WISH_COUNT };
WORD_FUNCTIONS(run_wish);

/* How a run ended. */
#define RUN_OUTCOMES(X)                                                                            \
    X(OUTCOME_NONE, "none")                                                                        \
    X(OUTCOME_SUCCEEDED, "succeeded")                                                              \
    X(OUTCOME_FAILED, "failed")                                                                    \
    X(OUTCOME_PREEMPTED, "preempted")                                                              \
    X(OUTCOME_TIMED_OUT, "timed_out")                                                              \
    X(OUTCOME_CANCELLED, "cancelled")                                                              \
    X(OUTCOME_LOST, "lost")

enum run_outcome { RUN_OUTCOMES(WORD_SYMBOL) OUTCOME_COUNT };
WORD_FUNCTIONS(run_outcome);

/* After so many runs in a row without progress, the daemon holds the phase, and a lead makes no
 * other run. */
enum { STALLED_RUNS_MAX = 3 };

/* Why a run failed: {symbol, stored name, whether there can be a remedy for it, whether a printed
 * line can show it} */
#define RUN_CAUSES(X)                                                                              \
    X(CAUSE_NONE, "none", false, false)                                                            \
    X(CAUSE_EXIT, "exit", true, true)                                                              \
    X(CAUSE_OOM, "oom", true, true)                                                                \
    X(CAUSE_NAN, "nan", true, true)                                                                \
    X(CAUSE_GUARD, "guard", false, false)                                                          \
    X(CAUSE_HANG, "hang", true, true)                                                              \
    X(CAUSE_PREFLIGHT, "preflight", true, false)                                                   \
    X(CAUSE_NODE_FAIL, "node_fail", true, true)                                                    \
    X(CAUSE_LAUNCH, "launch", false, true)

enum run_cause { RUN_CAUSES(WORD_SYMBOL) CAUSE_COUNT };
WORD_FUNCTIONS(run_cause);
bool run_cause_has_remedy(enum run_cause value);
bool run_cause_is_printed(enum run_cause value);
/* The names of the causes of a column, and their number. */
size_t run_cause_list(bool (*is_in)(enum run_cause value), const char *ret_names[CAUSE_COUNT]);

/* Who is to blame for a failure that was recognised. */
#define FAILURE_BLAMES(X)                                                                          \
    X(BLAME_NONE, "none")                                                                          \
    X(BLAME_NODE, "node") /* new jobs do not use it */                                             \
    X(BLAME_CODE, "code") /* the code or its params */

enum failure_blame { FAILURE_BLAMES(WORD_SYMBOL) BLAME_COUNT };
WORD_FUNCTIONS(failure_blame);

/* What a line of history is about. */
#define EVENT_TYPES(X)                                                                             \
    X(EVENT_WORKFLOW, "workflow")                                                                  \
    X(EVENT_PHASE, "phase")                                                                        \
    X(EVENT_RUN, "run")                                                                            \
    X(EVENT_GATE, "gate")                                                                          \
    X(EVENT_PROMOTION, "promotion")                                                                \
    X(EVENT_GUARD, "guard")                                                                        \
    X(EVENT_CHECKPOINT, "checkpoint")                                                              \
    X(EVENT_WARNING, "warning")

enum event_type { EVENT_TYPES(WORD_SYMBOL) EVENT_TYPE_COUNT };
WORD_FUNCTIONS(event_type);

/* What phased notifies people of. A phase has all kinds but the last. */
#define NOTICE_KINDS(X)                                                                            \
    X(NOTICE_HELD, "held")                                                                         \
    X(NOTICE_FAILED, "failed")                                                                     \
    X(NOTICE_SUCCEEDED, "succeeded")                                                               \
    X(NOTICE_BUDGET, "budget")

enum notice_kind { NOTICE_KINDS(WORD_SYMBOL) NOTICE_KIND_COUNT };
WORD_FUNCTIONS(notice_kind);

/* What a preflight finds about a node. */
#define PREFLIGHT_OUTCOMES(X)                                                                      \
    X(PREFLIGHT_PASSED, "passed")                                                                  \
    X(PREFLIGHT_FAILED, "failed")                                                                  \
    X(PREFLIGHT_UNKNOWN, "could not tell")

enum preflight_outcome { PREFLIGHT_OUTCOMES(WORD_SYMBOL) PREFLIGHT_OUTCOME_COUNT };
WORD_FUNCTIONS(preflight_outcome);

/* Where the run after a remedy begins. */
#define REMEDY_RESUMES(X)                                                                          \
    X(REMEDY_CHECKPOINT, "checkpoint") /* at the newest whole checkpoint */                        \
    X(REMEDY_START, "start")           /* at step 0: earlier checkpoints do not count */           \
    X(REMEDY_PREVIOUS, "previous")     /* at the checkpoint before the newest */

enum remedy_resume { REMEDY_RESUMES(WORD_SYMBOL) REMEDY_RESUME_COUNT };
WORD_FUNCTIONS(remedy_resume);

/* Why a lead stops its run, and how the run ends then. */
#define STOP_REASONS(X)                                                                            \
    X(STOP_PREEMPTED, "preempted", OUTCOME_PREEMPTED, CAUSE_NONE)                                  \
    X(STOP_TIMED_OUT, "timed_out", OUTCOME_TIMED_OUT, CAUSE_NONE)                                  \
    X(STOP_CANCELLED, "cancelled", OUTCOME_CANCELLED, CAUSE_NONE)                                  \
    X(STOP_HELD, "held", OUTCOME_CANCELLED, CAUSE_NONE)                                            \
    X(STOP_OVER, "over", OUTCOME_CANCELLED, CAUSE_NONE) /* for the daemon, the run has ended */    \
    X(STOP_UNTIL, "until", OUTCOME_SUCCEEDED, CAUSE_NONE)                                          \
    X(STOP_GUARD, "guard", OUTCOME_FAILED, CAUSE_GUARD)                                            \
    X(STOP_NAN, "nan", OUTCOME_FAILED, CAUSE_NAN)                                                  \
    X(STOP_HANG, "hang", OUTCOME_FAILED, CAUSE_HANG)                                               \
    X(STOP_EXIT, "exit", OUTCOME_FAILED, CAUSE_EXIT) /* a rank failed */                           \
    X(STOP_PREFLIGHT, "preflight", OUTCOME_FAILED, CAUSE_PREFLIGHT)                                \
    X(STOP_LAUNCH, "launch", OUTCOME_FAILED, CAUSE_LAUNCH)

enum stop_reason { STOP_REASONS(WORD_SYMBOL) STOP_REASON_COUNT };
WORD_FUNCTIONS(stop_reason);
enum run_outcome stop_reason_outcome(enum stop_reason value);
enum run_cause stop_reason_cause(enum stop_reason value);

/* The entries of a journal (doc/protocol.md): {symbol, name, whether entries of this type may be
 * lost when the disk is full and too many entries wait} */
#define ENTRY_TYPES(X)                                                                             \
    X(ENTRY_STARTED, "started", false)                                                             \
    X(ENTRY_PREFLIGHT, "preflight", false)                                                         \
    X(ENTRY_RANKS, "ranks", false)                                                                 \
    X(ENTRY_METRIC, "metric", true)                                                                \
    X(ENTRY_CHECKPOINT, "checkpoint", false)                                                       \
    X(ENTRY_GUARD, "guard", false)                                                                 \
    X(ENTRY_SUSPECT, "suspect", false)                                                             \
    X(ENTRY_WARNING, "warning", false)                                                             \
    X(ENTRY_STOPPING, "stopping", false)                                                           \
    X(ENTRY_EXITED, "exited", false)                                                               \
    X(ENTRY_ENDED, "ended", false)                                                                 \
    X(ENTRY_EVIDENCE, "evidence", false)                                                           \
    X(ENTRY_GPUS, "gpus", false)                                                                   \
    X(ENTRY_SAMPLE, "sample", true)                                                                \
    X(ENTRY_PACE, "pace", true)                                                                    \
    X(ENTRY_LOST, "lost", false)

enum entry_type { ENTRY_TYPES(WORD_SYMBOL) ENTRY_TYPE_COUNT };
WORD_FUNCTIONS(entry_type);
bool entry_type_may_be_lost(enum entry_type value);

/* The commands of the daemon for a lead. */
#define LEAD_VERBS(X)                                                                              \
    X(VERB_STOP, "stop") /* stop the run */                                                        \
    X(VERB_NEXT, "next") /* begin another run, in the same allocation */                           \
    X(VERB_END, "end")   /* no other run follows */

enum lead_verb { LEAD_VERBS(WORD_SYMBOL) LEAD_VERB_COUNT };
WORD_FUNCTIONS(lead_verb);

/* The commands of a lead for its agents (worker/node/agent.h): {symbol, name, whether an argument
 * follows} */
#define AGENT_COMMANDS(X)                                                                          \
    X(AGENT_START, "start", true)                                                                  \
    X(AGENT_GO, "go", false)                                                                       \
    X(AGENT_STOP, "stop", true)                                                                    \
    X(AGENT_RELAY, "relay", true)                                                                  \
    X(AGENT_EXPECT, "expect", true)                                                                \
    X(AGENT_KILL, "kill", false)                                                                   \
    X(AGENT_EXAMINE, "examine", false)                                                             \
    X(AGENT_EVIDENCE, "evidence", false)                                                           \
    X(AGENT_SUSPECT, "suspect", false)                                                             \
    X(AGENT_NUMBERED, "numbered", false)                                                           \
    X(AGENT_JOIN, "join", false)                                                                   \
    X(AGENT_FINISH, "finish", false)                                                               \
    X(AGENT_END, "end", false)

enum agent_command { AGENT_COMMANDS(WORD_SYMBOL) AGENT_COMMAND_COUNT };
WORD_FUNCTIONS(agent_command);
bool agent_command_has_argument(enum agent_command value);

/* The reports of agents to their lead (report.h). */
#define AGENT_REPORTS(X)                                                                           \
    X(REPORT_READY, "ready")                                                                       \
    X(REPORT_TERMINATED, "terminated")                                                             \
    X(REPORT_STARTED, "started")                                                                   \
    X(REPORT_SUPERSEDED, "superseded")                                                             \
    X(REPORT_GONE, "gone")                                                                         \
    X(REPORT_ENDED, "ended")                                                                       \
    X(REPORT_EXAMINED, "examined")                                                                 \
    X(REPORT_PREFLIGHT, "preflight")                                                               \
    X(REPORT_GUARD, "guard")                                                                       \
    X(REPORT_PACE, "pace")                                                                         \
    X(REPORT_SILENT, "silent")                                                                     \
    X(REPORT_FAILED, "failed")                                                                     \
    X(REPORT_CANNOT_START, "cannot_start")

enum agent_report { AGENT_REPORTS(WORD_SYMBOL) AGENT_REPORT_COUNT };
WORD_FUNCTIONS(agent_report);

/* The tables of names, which end with NULL. */
extern const char *const notice_kind_names[];
extern const char *const run_outcome_names[], *const run_cause_names[], *const stop_reason_names[];
extern const char *const failure_blame_names[];
extern const char *const lead_verb_names[], *const agent_report_names[];

/* What stands before the name of a state of a workflow or phase: "has" succeeded, "is" active. */
const char *state_verb(const char *name);

/* The place of a name, or -1. The name may be NULL. */
int word_parse(const char *const *names, size_t count, const char *name);

#endif
