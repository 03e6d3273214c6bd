/* The decisions of the daemon, and nothing else: an event goes in, effects come out.
 *
 * No I/O, clock, libuv, SQL or Slurm in here, so that a simulator can drive it in virtual time. The
 * loop (daemon/loop) drains its events, steps the core with each, commits one transaction with all
 * rows that the effects name and with the effects themselves (the outbox), and only then carries
 * the effects out. An effect's result comes back as an event, whose transaction deletes it from the
 * outbox. At a start the loop loads the live workflows and carries out what the outbox holds, once
 * more: every effect is idempotent. (A submission in the outbox may have happened: it begins as a
 * look-up of its token.) CANCEL_JOB and the TELL_ effects stay until what they want has come about:
 * the loop carries them out again whenever Slurm or the lead could not be reached. */
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
    EV_ADDED,       /* a workflow: it was given to core_add(), nothing has begun */
    EV_SUBMITTED,   /* a job: Slurm has it, under slurm_id (also adopted ones) */
    EV_REFUSED,     /* a job: Slurm will never take it; message */
    EV_LIMITED,     /* a job: a site's limit; nothing exists; try later */
    EV_UNSURE,      /* a job: nobody answered; it may exist */
    EV_UNKNOWN,     /* a job: a controller that answers does not know the token */
    EV_JOB_SEEN,    /* a job: as Slurm has it */
    EV_JOB_ABSENT,  /* a job: not in a poll that a controller answered */
    EV_RUN_STARTED, /* a run: its lead has reported */
    EV_RUN_STOPPING,
    EV_RUN_ENDED,  /* a run: outcome known, and all its journals are committed */
    EV_RUN_SILENT, /* a run: its folder holds no outcome; message: the job's last words */
    EV_SEALED,     /* a run: its folder says that it has ended */
    EV_CHECKPOINT, /* a run: a whole checkpoint: path, step */
    EV_SUSPECT,    /* a run: a guard broke, or NaN came: what was saved since is not gone on from */
    EV_PROGRESS,   /* a run: step, begin_step */
    EV_JUDGED,     /* a phase: the gate's verdict; a matrix: whom it chooses */
    EV_REMEDIED,   /* a phase: its remedy was worked out, or cannot be */
    EV_COMMAND,    /* a phase: what a person wants */
    EV_TIME,       /* the deadline of core_deadline() has come */
    EV_CLOCK,      /* the clock was set: `step` milliseconds forward; negative: back */
    EV_COUNT,
};

#define CORE_COMMANDS(X)                                                                           \
    X(PROMOTE, "promote")                                                                          \
    X(HOLD, "hold")                                                                                \
    X(RELEASE, "release") X(RESUME, "resume") X(CANCEL, "cancel") X(RETRY, "retry")

enum core_command {
#define X(symbol, name) COMMAND_##symbol,
    CORE_COMMANDS(X)
#undef X
        COMMAND_COUNT
};

/* Whom a matrix chooses: those who go on to the next rung, or at its end the best; NULL, where none
 * is more than the others. */
struct core_choice {
    bool goes_on;
    size_t count; /* of those that are left; never 0 */
    struct phase *const *members;
    struct phase *best;
};

/* One member, as it was measured. */
struct core_score {
    struct phase *member;
    size_t number; /* for whoever measures */
    double value;  /* NaN: without one */
    bool is_left;  /* it ran well, and may be chosen */
};

/* Puts the best first: those that are left, by value, the earlier of equal ones first. Returns how
 * many of them stay when this part of those that are left (0 to 1) is cut; of any at least one. */
size_t core_choose(struct core_score *scores, size_t count, bool is_min, double cut);

/* INCOMPLETE: the record lacks some of what the run told: nobody knows what the gate would find. */
enum gate_result { GATE_PASSED, GATE_FAILED, GATE_INSUFFICIENT, GATE_INCOMPLETE };

/* Borrowed pointers of the model; text is copied. `workflow` is always there but for EV_TIME
 * and EV_CLOCK, and with it the one object that the kind is about; members that the kind does not
 * need are 0. */
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
        const char *state; /* as cluster_job_state_name() has it */
        const char *reason, *nodes;
        bool is_final, is_running;
        bool is_waiting; /* pending, and Slurm has put its begin off, as it does after a requeue */
        bool is_stuck;   /* pending, and held by Slurm: after a launch that failed */
        unsigned restarts;
        unsigned limit_s;             /* of its time; 0: not known, or none */
        int64_t started_ms, ended_ms; /* as Slurm has them; 0: not known */
    } seen;
    /* RUN_STARTED, RUN_ENDED. RUN_SILENT: SUCCEEDED where its journals prove that, else NONE. */
    enum run_outcome outcome;
    enum run_cause cause;
    int exit_code, signal;
    int64_t started_ms, ended_ms; /* as the worker's clock had it */
    int64_t step;                 /* the last one; of CHECKPOINT and PROGRESS: that one; -1: none */
    int64_t begin_step;           /* PROGRESS: the first one that is told with `step` */
    bool requeues;                /* RUN_ENDED: the lead has asked Slurm to requeue the job */
    /* RUN_ENDED: which to blame for a failure, after a preflight several with commas between; NULL:
     * none */
    const char *node;
    int64_t since; /* SUSPECT: this step; `path` and `step`: the newest checkpoint before it */
    /* CHECKPOINT. SUSPECT: NULL: the run has none. RUN_STARTED: what it really resumed from, with
     * `step`; empty: from the start; NULL: that is not known, so from what the record says.
     * COMMAND, to retry: the checkpoint that a person has chosen, with `step`; empty: the start;
     * NULL: it was not said. */
    const char *path;
    const char *token;   /* RUN_STARTED: of the job that its lead is in; NULL: not known */
    int64_t retry_ms;    /* LIMITED: when it is worth trying again; 0: not known */
    const char *message; /* REMEDIED: which params became what, or why it cannot be */
    /* JUDGED: the checks that failed; RUN_ENDED: the guard that stopped it; with commas between. */
    const char *checks;
    /* REMEDIED: the workflow with the other params; NULL: that is impossible. With `path` and
     * `step` as of COMMAND: the checkpoint before the newest. */
    const struct workflow *plan;
    const struct core_choice *choice; /* JUDGED, of a matrix; `plan`: with what follows from it */
    /* JUDGED; of a matrix FAILED: by `where`, without which a person may let it choose;
     * INSUFFICIENT: it cannot choose. */
    enum gate_result gate;
    bool is_ungated;           /* JUDGED, PASSED: there is no gate, and its run has succeeded */
    enum core_command command; /* COMMAND */
    bool hold;                 /* ADDED: first phases are held */
};

/* --- Effects ---------------------------------------------------------------------------------- */

/* {symbol, stored name, whether it stands in the outbox until its result has come, what it is
 * about, whether the cluster is asked to carry it out} */
#define CORE_EFFECTS(X)                                                                            \
    X(SAVE_WORKFLOW, "save-workflow", false, WORKFLOW, false)                                      \
    X(SAVE_PHASE, "save-phase", false, PHASE, false)                                               \
    X(SAVE_RUN, "save-run", false, RUN, false)                                                     \
    X(SAVE_SEAT, "save-seat", false, RUN, false) /* that the run is in */                          \
    X(SAVE_JOB, "save-job", false, JOB, false)                                                     \
    /* A line of history about the phase, or about a run of it: from, to, message. */              \
    X(HISTORY, "history", false, PHASE, false)                                                     \
    X(PROMOTION, "promotion", false, PHASE, false)    /* it was promoted; run: begun by that */    \
    X(BLAME_NODE, "blame-node", false, RUN, false)    /* it was failed by a node: message */       \
    X(WARNING, "warning", false, RUN, false)          /* a line of history: message */             \
    X(SUBMIT, "submit", true, JOB, true)              /* until EV_SUBMITTED and the like */        \
    X(LOOKUP, "lookup", true, JOB, true)              /* likewise, or EV_UNKNOWN */                \
    X(CANCEL_JOB, "cancel-job", true, JOB, true)      /* until it is gone */                       \
    X(BEGIN_JOB, "begin-job", true, JOB, true)        /* soon; until it runs or is gone */         \
    X(READ_OUTCOME, "read-outcome", true, RUN, false) /* RUN_ENDED or RUN_SILENT follows */        \
    X(SEAL, "seal", true, RUN, false)           /* its folder gets a tombstone; SEALED follows */  \
    X(JUDGE, "judge", true, PHASE, false)       /* its gate, or its members; JUDGED follows */     \
    X(REMEDY, "remedy", true, RUN, false)       /* that the phase takes; REMEDIED follows */       \
    X(TELL_STOP, "tell-stop", true, RUN, false) /* its lead; wish says why; until it has ended */  \
    /* The lead of its job goes on with it, or it joins a job; until it starts. */                 \
    X(TELL_NEXT, "tell-next", true, RUN, false)                                                    \
    X(TELL_END, "tell-end", true, RUN, false) /* its lead may leave; until the job has ended */

enum core_effect_kind {
#define X(symbol, name, kept, about, cluster) FX_##symbol,
    CORE_EFFECTS(X)
#undef X
        FX_COUNT
};

/* What an effect is about: together with the kind the key of a kept one. */
enum core_about { ABOUT_WORKFLOW, ABOUT_PHASE, ABOUT_RUN, ABOUT_JOB };

/* Borrowed pointers of the model; valid until the workflow is dropped. */
struct core_effect {
    enum core_effect_kind kind;
    struct workflow *workflow;
    struct phase *phase;
    struct run *run;
    struct allocation *allocation;
    bool is_done;          /* of a kept kind: take it out of the outbox; nothing is carried out */
    int64_t due_ms;        /* SUBMIT, LOOKUP: not before (back-off); 0: at once */
    const char *from, *to; /* HISTORY: state names, static; may be NULL */
    char message[REASON_MAX]; /* HISTORY, WARNING; PROMOTION: who, empty: no person; BLAME_NODE: the
                                 node */
    bool is_ungated;          /* PROMOTION by no person: the phase has no gate */
};

struct core_effects {
    struct core_effect *items;
    size_t count, capacity;
};

void core_effects_clear(struct core_effects *effects);
void core_effects_fini(struct core_effects *effects);
const char *core_effect_name(enum core_effect_kind kind);
int core_effect_parse(const char *name); /* -1: none */
bool core_effect_is_kept(enum core_effect_kind kind);
enum core_about core_effect_about(enum core_effect_kind kind);
bool core_effect_needs_cluster(enum core_effect_kind kind);
/* The id of what it is about. */
uint64_t core_effect_target(const struct core_effect *effect);
const char *core_command_name(enum core_command command);
int core_command_parse(const char *name); /* -1: none */

/* --- The core --------------------------------------------------------------------------------- */

struct core_config {
    /* Fills in TOKEN_LENGTH random hexadecimal digits and a NUL. Of the daemon: libsodium; of a
     * simulation: its seed. */
    void (*token)(void *arg, char ret_token[TOKEN_LENGTH + 1]);
    void *arg;
    /* The highest ids in the record; new ones follow. */
    uint64_t last_workflow, last_phase, last_run, last_seat, last_job;
};

struct core *core_new(const struct core_config *config);
void core_free(struct core *core);

/* Gives ids to a new workflow and its phases (id 0), or takes back one that was loaded; the core
 * owns it from now on. EV_ADDED starts a new one. */
void core_add(struct core *core, struct workflow *workflow);
/* Forgets (frees) a workflow: a final one that is no longer needed in memory. */
void core_drop(struct core *core, struct workflow *workflow);

/* Decides. Appends to `effects`. The same core and the same events give the same effects. */
void core_step(struct core *core, const struct core_event *event, struct core_effects *effects);

/* Whether an allocation that was not submitted, as far as is known, need not be any more:
 * EV_LIMITED ends what waits for it. */
bool core_allocation_is_vain(const struct workflow *workflow, const struct allocation *allocation);

/* The run that this one, which has not begun, follows: it may have saved a checkpoint after its end
 * that this one shall go on from. NULL: there is none, or from where it begins was chosen. */
struct run *core_run_before(const struct run *run);

/* Whether the command would do anything to this phase now: 0, or -EPERM with a message that says
 * why not and what to do instead. */
int core_command_check(const struct phase *phase, enum core_command command, struct error *err);
/* Whether the command, which can be carried out, has to wait for the phase's run to stop. */
bool core_command_stops(const struct phase *phase, enum core_command command);

/* Whether it makes a matrix decide on the results that it has: nothing runs. */
bool core_command_judges(const struct phase *phase, enum core_command command);

/* When EV_TIME is due: the nearest deadline; INT64_MAX when there is none. */
int64_t core_deadline(const struct core *core);
/* Whether something starts or ends right now, so that polling often pays. */
bool core_is_busy(const struct core *core, int64_t now_ms);

struct workflow *core_workflow(const struct core *core, uint64_t id); /* NULL: not in memory */
struct run *core_run(const struct core *core, uint64_t id);
struct allocation *core_allocation(const struct core *core, uint64_t id);
size_t core_workflow_count(const struct core *core);
struct workflow *core_workflow_at(const struct core *core, size_t index); /* oldest first */

#endif
