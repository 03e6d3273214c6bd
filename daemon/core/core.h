/* The decisions of the daemon, and nothing else: an event goes in, effects come out.
 *
 * The core has no I/O, clock, libuv, SQL or Slurm, so that a simulator can drive it in virtual
 * time. The loop (daemon/loop) drains its events and gives each event to the core. Then the loop
 * commits one transaction with all rows that the effects name and with the effects themselves (the
 * outbox). After the commit, the loop answers those who asked, and carries out the effects. The
 * result of an effect comes back as an event, and the transaction of that event deletes the effect
 * from the outbox. When the daemon starts, the loop loads the live workflows and carries the outbox
 * out once more: every effect is idempotent. (A submission in the outbox may have happened, so it
 * begins with a look-up of its token.) CANCEL_JOB and the TELL_ effects stay until what they want
 * has happened. The loop carries CANCEL_JOB out again whenever Slurm could not be reached, and the
 * core asks for it again while Slurm has the job as before. Each request of the lead is answered
 * from the TELL_ effects (daemon/ingest/lead.c). */
#ifndef PHASED_DAEMON_CORE_CORE_H
#define PHASED_DAEMON_CORE_CORE_H

#include "daemon/core/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct error;

/* --- Events ----------------------------------------------------------------------------------- */

enum core_event_kind {
    EV_ADDED,       /* a workflow: it was given to core_add(), and nothing has begun */
    EV_SUBMITTED,   /* a job: Slurm has it, under slurm_id; also if a look-up found the job */
    EV_REFUSED,     /* a job: Slurm will never take it; message */
    EV_LIMITED,     /* a job: it cannot be asked for now, as message says; no job exists */
    EV_UNSURE,      /* a job: nobody answered; it may exist */
    EV_UNKNOWN,     /* a job: a controller that answers does not know the token */
    EV_JOB_SEEN,    /* a job: what Slurm says about it */
    EV_JOB_ABSENT,  /* a job: not in a poll that a controller answered */
    EV_RUN_STARTED, /* a run: its lead has reported */
    EV_RUN_STOPPING,
    EV_RUN_ENDED,  /* a run: outcome known, and all its journals are committed */
    EV_RUN_SILENT, /* a run: its folder holds no outcome; message: the job's last words */
    EV_SEALED,     /* a run: its folder now says that it has ended */
    EV_CHECKPOINT, /* a run: a whole checkpoint: path, step */
    EV_SUSPECT,    /* a run: a guard failed, or NaN came; what was saved since then is suspect */
    EV_PROGRESS,   /* a run: step, begin_step */
    EV_JUDGED,     /* a phase: the gate's verdict; a matrix: whom it chooses */
    EV_REMEDIED,   /* a phase: its remedy was worked out, or cannot be */
    EV_COMMAND,    /* a phase: what a person wants */
    EV_TIME,       /* the deadline of core_deadline() has come */
    EV_CLOCK,      /* the clock was set: `step` milliseconds forward; negative: back */
    EV_COUNT,
};

/* Which members a matrix chooses: those that go on to the next rung, or the best member at the last
 * rung. */
struct core_choice {
    bool goes_on;
    size_t count; /* never 0 */
    struct phase *const *members;
    struct phase *best; /* NULL: the members go on, or no member is better than the others */
};

/* One member, and its measured value. */
struct core_score {
    struct phase *member;
    size_t number; /* a number for the caller */
    double value;  /* NaN: it has no value */
    bool is_left;  /* it ran well, and may be chosen */
};

/* Sorts the scores: members that are left come first, the best of them at the top. If two members
 * are equal, the earlier member comes first. `cut` says which part of these members is cut, from 0
 * to 1. Returns how many members stay: at least one, if any member is left. */
size_t core_choose(struct core_score *scores, size_t count, bool is_min, double cut);
/* How many of `left` members stay at the cut. */
size_t core_kept(size_t left, double cut);

/* Pointers are borrowed, texts are copied. Every event but EV_TIME and EV_CLOCK has its workflow
 * and the one object that its kind is about. Members that the kind does not need are 0. */
struct core_event {
    enum core_event_kind kind;
    int64_t now_ms;
    struct workflow *workflow;
    struct phase *phase;
    struct run *run;
    struct allocation *allocation;
    uint32_t slurm_id;
    /* JOB_SEEN: */
    struct {
        enum cluster_job_state state;
        const char *reason, *nodes;
        bool is_final;
        bool is_completing; /* Slurm is still cleaning up after the job */
        bool is_waiting;    /* pending, and Slurm has delayed its begin, as after a requeue */
        bool is_stuck;      /* pending, and held by Slurm: after a launch that failed */
        unsigned restarts;
        unsigned limit_s;             /* the job's time limit; 0: unknown, or no limit */
        int64_t started_ms, ended_ms; /* by Slurm's clock; 0: unknown */
    } seen;
    /* RUN_STARTED, RUN_ENDED. RUN_SILENT: SUCCEEDED where its journals prove that, else NONE. */
    enum run_outcome outcome;
    enum run_cause cause;
    int exit_code, signal;
    int64_t started_ms, ended_ms; /* by the worker's clock */
    int64_t step;       /* the last step; CHECKPOINT: the step of the checkpoint; -1: no step */
    int64_t begin_step; /* PROGRESS: the first step that is told */
    bool requeues;      /* RUN_ENDED: the lead wants to go on in the job, requeued */
    /* RUN_ENDED: the node to blame for a failure; NULL: no node. After a preflight there may be
     * several nodes, with commas between. */
    const char *node;
    int64_t since; /* SUSPECT: the first suspect step; `path`, `step`: the checkpoint before */
    int64_t suspected_ms; /* SUSPECT: when it was told, by the worker's clock */
    /* The path of a checkpoint, with `step`. SUSPECT: NULL: the run has no such checkpoint.
     * RUN_STARTED: the checkpoint that run.json names, which the lead may have replaced; empty: the
     * run began from the start; NULL: not known, so the record is believed. COMMAND, to retry: the
     * checkpoint that a person has chosen; empty: the start; NULL: nothing was chosen. */
    const char *path;
    const char *token;            /* RUN_STARTED: the token of the lead's job; NULL: not known */
    int64_t retry_ms;             /* LIMITED: when it is worth trying again; 0: not known */
    enum stop_reason stop_reason; /* RUN_STOPPING; STOP_REASON_COUNT: not known */
    /* RUN_STOPPING: why its worker wants the phase to be held; NULL: the worker does not. */
    const char *hold_reason;
    const char *message; /* REMEDIED: which params became what, or why the remedy is impossible */
    /* JUDGED: the checks that failed, with ", " between. RUN_ENDED: the guard that stopped the
     * run. */
    const char *checks;
    /* REMEDIED: the workflow with the other params, and in `path` and `step` the checkpoint before
     * the newest one; NULL: the remedy is impossible. JUDGED, for a matrix: the workflow with what
     * follows from the choice. */
    const struct workflow *revision;
    const struct core_choice *choice; /* JUDGED: the choice of a matrix that passed */
    /* JUDGED. If a matrix FAILED, `where` left no member, or the record lacks metrics, and a person
     * may promote the matrix. If a matrix is INSUFFICIENT, it cannot choose. */
    enum gate_result gate;
    bool is_ungated;            /* JUDGED, PASSED: the phase has no gate, and its run succeeded */
    enum phase_command command; /* COMMAND */
    enum budget budget;         /* COMMAND, to hold: the budget that is spent */
    enum amount amount;         /* with `budget`: in which unit too much is spent */
    bool hold;                  /* ADDED: the first phases are held */
};

/* --- Effects ---------------------------------------------------------------------------------- */

/* {symbol, stored name, whether it is kept in the outbox until its result has come, what it is
 * about, whether the cluster is asked to carry it out} */
#define CORE_EFFECTS(X)                                                                            \
    X(SAVE_WORKFLOW, "save-workflow", false, WORKFLOW, false)                                      \
    X(SAVE_PHASE, "save-phase", false, PHASE, false)                                               \
    X(SAVE_RUN, "save-run", false, RUN, false)                                                     \
    X(SAVE_SEAT, "save-seat", false, RUN, false) /* the seat of the run */                         \
    X(SAVE_JOB, "save-job", false, JOB, false)                                                     \
    /* A line of history about the phase, or about its run: from, to, message. */                  \
    X(HISTORY, "history", false, PHASE, false)                                                     \
    X(PROMOTION, "promotion", false, PHASE, false)    /* its promotion began the run */            \
    X(BLAME_NODE, "blame-node", false, RUN, false)    /* a node made it fail: message */           \
    X(WARNING, "warning", false, RUN, false)          /* a line of history: message */             \
    X(SUBMIT, "submit", true, JOB, true)              /* until EV_SUBMITTED and the like */        \
    X(LOOKUP, "lookup", true, JOB, true)              /* the same, or until EV_UNKNOWN */          \
    X(CANCEL_JOB, "cancel-job", true, JOB, true)      /* until the job is gone */                  \
    X(BEGIN_JOB, "begin-job", true, JOB, true)        /* soon; until the job runs or is gone */    \
    X(READ_OUTCOME, "read-outcome", true, RUN, false) /* RUN_ENDED or RUN_SILENT follows */        \
    X(SEAL, "seal", true, RUN, false)           /* its folder gets a tombstone; SEALED follows */  \
    X(JUDGE, "judge", true, PHASE, false)       /* its gate, or its members; JUDGED follows */     \
    X(REMEDY, "remedy", true, RUN, false)       /* of the phase; REMEDIED follows */               \
    X(TELL_STOP, "tell-stop", true, RUN, false) /* to its lead; until the run has ended */         \
    /* Its lead goes on with the run, or lets the run join; pending until the run starts. */       \
    X(TELL_NEXT, "tell-next", true, RUN, false)                                                    \
    X(TELL_END, "tell-end", true, RUN, false) /* its lead may leave; until the job has ended */

enum core_effect_kind {
#define X(symbol, name, kept, about, cluster) FX_##symbol,
    CORE_EFFECTS(X)
#undef X
        FX_COUNT
};

/* What an effect is about. This and the kind are the key of a kept effect. */
enum core_about { ABOUT_WORKFLOW, ABOUT_PHASE, ABOUT_RUN, ABOUT_JOB };

struct core_effect_row {
    const char *name;
    bool is_kept;
    enum core_about about;
    bool needs_cluster;
};
extern const struct core_effect_row core_effect_rows[FX_COUNT];

/* Pointers are borrowed, and valid until the workflow is dropped. */
struct core_effect {
    enum core_effect_kind kind;
    struct workflow *workflow;
    struct phase *phase;
    struct run *run;
    struct allocation *allocation;
    bool is_done;             /* for a kept kind: it is only deleted from the outbox */
    int64_t due_ms;           /* SUBMIT, LOOKUP, TELL_NEXT: not before this time; 0: at once */
    const char *from, *to;    /* HISTORY: state names, static; may be NULL */
    char message[REASON_MAX]; /* HISTORY, WARNING; PROMOTION: who did it, empty: no person;
                                 BLAME_NODE: the node */
    bool is_ungated;          /* PROMOTION by no person: the phase has no gate */
};

struct core_effects {
    struct core_effect *items;
    size_t count, capacity;
};

void core_effects_clear(struct core_effects *effects);
void core_effects_fini(struct core_effects *effects);
int core_effect_parse(const char *name); /* -1: no effect has this name */
/* The id of the object that the effect is about. */
uint64_t core_effect_target(const struct core_effect *effect);

/* --- The core --------------------------------------------------------------------------------- */

struct core_config {
    /* Fills in TOKEN_LENGTH random hexadecimal digits and a NUL. The daemon has them from
     * libsodium, a simulation from its seed. */
    void (*token)(void *context, char ret_token[TOKEN_LENGTH + 1]);
    void *context;
    /* The highest ids in the record; new ones follow. */
    uint64_t last_workflow, last_phase, last_run, last_seat, last_job;
    int64_t absence_ms; /* in place of ABSENCE_MS, for tests; 0: ABSENCE_MS */
};

struct core *core_new(const struct core_config *config);
void core_free(struct core *core);

/* The core owns the workflow from now on. A new workflow (id 0) and its phases get ids, and
 * EV_ADDED starts it; a workflow that was loaded has its ids. */
void core_add(struct core *core, struct workflow *workflow);
/* Frees a final workflow that is no longer needed in memory. */
void core_drop(struct core *core, struct workflow *workflow);
/* Takes back the numbers of workflows from this number on, so that they are given again. Nobody has
 * been told of these workflows, and they were dropped. Does nothing if one of them still exists. */
void core_give_again(struct core *core, uint64_t workflow);

/* Decides. Appends to `effects`. The same core and the same events give the same effects. */
void core_decide(struct core *core, const struct core_event *event, struct core_effects *effects);

/* Whether a run still needs the allocation. The job of the allocation is not known to exist. If no
 * run needs the allocation, its job is not submitted: EV_LIMITED then ends the runs that wait for
 * it. */
bool core_allocation_is_needed(const struct allocation *allocation);

/* Whether EV_JOB_SEEN could change anything. Most polls say nothing new about most jobs, and then
 * no event is needed. */
bool core_job_is_news(const struct core_event *event);
/* Whether EV_JOB_ABSENT could change anything. A job that has ended is missed if it came back, and
 * was cancelled. */
bool core_job_is_missed(const struct allocation *allocation);

/* For a run that has not begun: the last run of its phase that has begun. That run may tell its
 * last checkpoint after its end, and this run must go on from there. NULL: no run has begun, or the
 * checkpoint was chosen. */
struct run *core_run_before(const struct run *run);

/* Whether the command would do anything to this phase now: 0, or -EPERM with a message that says
 * why not and what to do instead. */
int core_command_check(const struct phase *phase, enum phase_command command, struct error *err);
/* Whether the command, which can be carried out, has to wait until a run has stopped. */
bool core_command_stops(const struct phase *phase, enum phase_command command);

/* Whether the command makes a matrix decide from the results that it has. Nothing runs then. */
bool core_command_judges(const struct phase *phase, enum phase_command command);

/* When EV_TIME is due: the nearest deadline; INT64_MAX: there is no deadline. */
int64_t core_deadline(const struct core *core);
/* Whether something starts or ends right now, so that it is worth polling often. */
bool core_is_busy(const struct core *core, int64_t now_ms);

struct workflow *core_workflow(const struct core *core, uint64_t id); /* NULL: not in memory */
size_t core_workflow_count(const struct core *core);
struct workflow *core_workflow_at(const struct core *core, size_t index); /* oldest first */

#endif
