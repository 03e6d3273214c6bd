/* A world in virtual time around the real core: a fake Slurm (slurm.c), fake leads on its nodes and
 * their disk (lead.c), a fake loop with a record that survives its crashes (daemon.c), a person,
 * and faults of all of them (sim.c). One seed decides everything, so a failing world can be
 * repeated. Invariants are checked where they can break. A breach ends the program and prints the
 * seed and, if asked for, a trace.
 *
 * Time passes in ticks of a second. In a tick everybody acts once. Messages between the daemon and
 * the others are in queues, and can be late, doubled or lost. */
#ifndef PHASED_TESTS_SIM_H
#define PHASED_TESTS_SIM_H

#include "daemon/core/core.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_JOBS_MAX = 512,
    SIM_LEADS_MAX = 4096,
    SIM_RUNS_MAX = 512,
    SIM_PHASES = 2,
    SIM_ROWS = SIM_PHASES + 1, /* with a matrix, which never runs */
    SIM_REMEDIES = 3,          /* of each phase, or no remedies */
    SIM_TOKENS_MAX = 4096,     /* tokens of steps that were never committed count, too */
    SIM_QUEUE_MAX = 256,
    SIM_OUTBOX_MAX = 128,
    SIM_CHECKPOINT_STEPS = 20, /* a step takes a second */
    SIM_STEPS_MAX = 1024,
};

/* --- The fake Slurm --------------------------------------------------------------------------- */

struct sim_job {
    uint32_t id; /* given out again after a crash of the controller */
    char token[TOKEN_LENGTH + 1];
    bool is_known; /* by the controller */
    enum { SIM_PENDING, SIM_RUNNING, SIM_OVER } state;
    enum cluster_job_state shown; /* what Slurm says of it */
    int64_t submitted, starts, started, ended;
    int64_t limit_s;
    int64_t term_at, kill_at; /* of a running preemption; 0: there is no preemption */
    unsigned restarts;
    bool was_requeued;  /* and its next begin is delayed */
    bool is_held;       /* by Slurm, after a launch that failed */
    bool was_pending;   /* until it was cancelled */
    bool came_back;     /* the controller has lost its state, and found an older one */
    bool is_late;       /* submitted by a daemon that no longer had the lease */
    bool has_twin;      /* there is, or was, another job with the same token */
    bool had_orphans;   /* a node was lost, and its program went on for a while */
    int64_t unwanted_s; /* how long the daemon could have seen and cancelled the job */
    bool was_warned;
    unsigned nodes;
    /* Only of a running job: the leads that its batch script has started, and whether a lead wants
     * the job requeued. */
    struct sim_lead *leads;
    bool wants_requeue;
};

/* --- The fake lead, and the disk -------------------------------------------------------------- */

/* The content of a run's folder. */
struct sim_folder {
    uint64_t run;   /* 0: a lead made it alone, and the daemon has not taken it over yet */
    unsigned phase; /* index */
    unsigned attempt;
    bool was_alone, requeues;
    bool looked_again; /* it began from a newer checkpoint than the daemon had chosen */
    bool is_sealed;    /* the daemon has put a tombstone there */
    unsigned restarts; /* of its job at the start */
    int64_t begin_step, checkpoint_step, last_step;
    /* A guard has failed: checkpoints of this step or later are suspect; -1: no guard has failed.
     * Then the newest good checkpoint; -1: no checkpoint is good. */
    int64_t suspect_since, good_step;
    bool holds;    /* its worker has stopped it, and wants the phase to be held */
    int64_t ended; /* the time in the outcome file; 0: there is no file */
    bool has_started;
    enum run_outcome outcome;
    enum run_cause cause;
    /* How much of the journal the daemon has acknowledged. */
    bool started_told, suspect_told, hold_told, ended_told;
    int64_t checkpoint_told;
    struct sim_job *job;
    unsigned token; /* of the lead that began it */
};

struct sim_lead {
    struct sim_job *job;
    struct sim_lead *next; /* of the same job */
    unsigned token;        /* its number: the folder that it serves */
    struct sim_folder *folder;
    /* ASKING: the run is over, the job has started again, and the daemon decides what comes next.
     * WAITING: another lead holds the phase. */
    enum {
        LEAD_WAITING,
        LEAD_TRAINING,
        LEAD_STOPPING,
        LEAD_LINGERING,
        LEAD_LEAVING,
        LEAD_ASKING,
        LEAD_GONE
    } state;
    uint64_t channel; /* the last run with a known number, by which the lead asks the daemon */
    int64_t heard_at; /* when the daemon last answered */
    enum run_outcome stop_outcome;
    enum run_cause stop_cause;
    int64_t until;    /* STOPPING: the time of the checkpoint; LINGERING: the end */
    int64_t fails_at; /* the step where its program fails; 0: it does not */
    enum run_cause fails_of;
};

/* --- The fake loop ---------------------------------------------------------------------------- */

/* An event for the core. It has ids, because pointers do not survive a crash. */
struct sim_event {
    struct core_event event; /* without pointers into the model */
    int phase;               /* index; -1: none */
    uint64_t run, job;
    int64_t due; /* seconds */
};

struct sim_outbox {
    enum core_effect_kind kind;
    uint64_t target; /* the id of the event's object */
    int64_t due_ms;
    bool is_doubtful; /* a submission that may have been carried out before a restart */
};

/* The process. */
struct sim_daemon {
    struct core *core; /* NULL: the daemon is down */
    int64_t up_at;
    unsigned lease;   /* the number that it wrote into the record when it started */
    int64_t clock_ms; /* how far its clock is ahead */
    struct sim_outbox outbox[SIM_OUTBOX_MAX];
    unsigned outbox_count;
    int64_t next_poll;
    struct sim_event queue[SIM_QUEUE_MAX];
    unsigned queue_count;
};

/* The record at the last commit. */
struct sim_record {
    struct workflow *workflow;
    struct sim_outbox outbox[SIM_OUTBOX_MAX];
    unsigned outbox_count;
    unsigned lease; /* of the daemon that may act */
};

/* A daemon that sleeps, and the effects that it had looked at and not carried out yet. */
struct sim_pause {
    struct sim_daemon daemon; /* without a core: no daemon sleeps */
    int64_t wakes_at;
    struct sim_outbox left[SIM_OUTBOX_MAX];
    unsigned left_count;
};

/* --- The world -------------------------------------------------------------------------------- */

struct sim {
    uint64_t seed, random;
    int64_t now; /* seconds */
    bool has_faults, is_verbose;
    bool cancels; /* PreemptMode=CANCEL: neither Slurm nor leads requeue jobs */

    struct sim_job jobs[SIM_JOBS_MAX];
    unsigned job_count;
    uint32_t next_job_id;
    int64_t controller_up_at;
    bool was_empty; /* the newest list of jobs; empty lists seldom come alone */

    struct sim_lead leads[SIM_LEADS_MAX];
    unsigned lead_count;
    struct sim_lead *orphans; /* programs that go on, although Slurm has lost their nodes */
    struct sim_folder folders[SIM_RUNS_MAX];
    unsigned folder_count;
    int64_t steps_wanted[SIM_ROWS]; /* at the rung of the phase */
    unsigned nodes_wanted[SIM_ROWS];
    bool is_manual[SIM_ROWS];
    bool is_swept;       /* both phases are members of a matrix */
    bool is_beside;      /* the second phase shares the allocations of the first one */
    bool has_candidates; /* the first phase allows GPUs of types a and b ... */
    bool lacks_type;     /* ... but Slurm has no GPU of type b */
    /* By the number in a job's token: current.json, the folder that it serves, and the Slurm job
     * that has claimed its folder. */
    struct sim_folder *current[SIM_TOKENS_MAX];
    const struct sim_job *claim[SIM_TOKENS_MAX];
    unsigned folder_of[SIM_TOKENS_MAX]; /* the owner of that folder; 0: the job itself */
    unsigned host[SIM_TOKENS_MAX];   /* the host of this job's leads; 0: the job is not a guest */
    unsigned fresh_from[SIM_ROWS];   /* the phase began anew here; earlier folders do not count */
    unsigned fresh_before[SIM_ROWS]; /* the same value, before a person began anew after ... */
    uint64_t fresh_after[SIM_ROWS];  /* ... this run */

    struct sim_record record;
    struct sim_daemon daemon;
    struct sim_pause pause;
    bool is_late; /* what happens now is done by a daemon that no longer has the lease */

    /* What was seen, for the invariants. */
    /* Since the end of the phase's newest run: the last verdict (-1: no verdict), and whether a
     * person has promoted the phase. */
    int gate[SIM_ROWS];
    bool by_person[SIM_ROWS];
    unsigned successes[SIM_ROWS];              /* moves to succeeded */
    unsigned remedied[SIM_ROWS][SIM_REMEDIES]; /* how often each remedy was taken */
    unsigned endings[SIM_RUNS_MAX];
    uint64_t tokens;
};

/* True with the probability 1 / `odds`, from the seed. */
bool sim_chance(struct sim *sim, uint32_t odds);
uint32_t sim_below(struct sim *sim, uint32_t limit);
/* A fault with the probability 1 / `odds`, while there are faults. */
bool sim_fault(struct sim *sim, uint32_t odds);
void sim_say(const struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the breach and the seed, and ends the program. */
void sim_breach(const struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* slurm.c */
enum sim_answer { SIM_DONE, SIM_ABSENT, SIM_NO_ANSWER, SIM_LIMITED, SIM_REFUSED };
enum sim_answer slurm_submit(struct sim *sim, const char *token, int64_t limit_s, uint32_t *ret_id);
enum sim_answer slurm_lookup(struct sim *sim, const char *token, uint32_t *ret_id);
enum sim_answer slurm_cancel(struct sim *sim, uint32_t id, const char *token);
/* A lead asks for the requeue. False: it was refused. The lead is gone afterwards. */
bool slurm_requeue(struct sim *sim, struct sim_job *job);
/* Lets a requeued job begin soon. */
void slurm_begin(struct sim *sim, uint32_t id, const char *token);
bool slurm_answers(struct sim *sim);
void slurm_tick(struct sim *sim);
/* The batch script has ended by itself. */
void slurm_job_done(struct sim *sim, struct sim_job *job);

/* lead.c */
unsigned token_number(const char *token); /* tokens are numbered from 1 */
struct sim_folder *folder_find(struct sim *sim, uint64_t run);
struct sim_folder *folder_at(struct sim *sim, unsigned phase, unsigned attempt); /* or NULL */
/* Returns the folder of an attempt. The folder may exist already. */
struct sim_folder *folder_make(struct sim *sim, unsigned phase, unsigned attempt,
                               int64_t begin_step);
/* Returns the folder of a run, or takes over the folder that a lead has made alone for it. */
struct sim_folder *folder_make_for(struct sim *sim, const struct run *run);
/* Whether the lead's program runs. */
bool lead_trains(const struct sim_lead *lead);
/* The batch script of the job begins. Then the signals that it and all its leads get, and its time.
 */
void script_start(struct sim *sim, struct sim_job *job);
void script_term(struct sim *sim, struct sim_job *job, enum run_outcome outcome);
void script_tick(struct sim *sim, struct sim_job *job);
/* Slurm has lost the node of the job. Its leads are dead, and their programs may go on. */
void script_orphan(struct sim *sim, struct sim_job *job);
void orphans_tick(struct sim *sim);

/* told.c: the time on clocks that nobody sets; 0: none. */
int64_t world_ms(int64_t second);
/* Events about a folder. */
struct core_event started_event(const struct sim_folder *folder);
struct core_event checkpoint_event(int64_t step);
struct core_event suspect_event(const struct sim_folder *folder);
struct core_event progress_event(const struct sim_folder *folder);
struct core_event hold_event(void);
struct core_event ended_event(const struct sim_folder *folder);

/* record.c: the caller frees the copy with workflow_free(). */
struct workflow *workflow_copy(const struct workflow *from);
/* Returns the row, or NULL. */
struct sim_outbox *outbox_find(struct sim_outbox *rows, unsigned count, enum core_effect_kind kind,
                               uint64_t target);
void outbox_apply(struct sim_daemon *daemon, const struct core_effect *effect);
/* Derives from the outbox what store/load.c derives from it. */
void record_derive(struct sim_record *record);
/* Returns the workflow after a remedy, sometimes for another number of nodes. NULL: the remedy is
 * impossible. */
struct workflow *remedy_revision(struct sim *sim, const struct workflow *workflow, unsigned phase);
/* The remedy at this index was committed. The next run begins accordingly. */
void remedy_taken(struct sim *sim, const struct phase *phase, int place);

/* saved.c: the effects, which are being committed, name each object that has changed. */
void check_saved(const struct sim *sim, const struct core_effects *effects,
                 const struct workflow *after);

/* daemon.c */
void daemon_begin(struct sim *sim, struct workflow *workflow);
void daemon_start(struct sim *sim);
void daemon_crash(struct sim *sim, int64_t away_s);
void daemon_tick(struct sim *sim);
void daemon_end(struct sim *sim);
/* A turn: polls, carries out what is due, and handles what has come. */
void daemon_turn(struct sim *sim);
void daemon_carry(struct sim *sim, const struct sim_outbox *row);
/* Somebody sets the clock of the daemon's machine. */
void daemon_set_clock(struct sim *sim);
/* Takes a message of a lead. False: the message was not acknowledged, and must be sent again. */
bool daemon_take(struct sim *sim, struct core_event event, const struct sim_folder *folder);
/* Returns the command for the lead of this run: FX_TELL_STOP, NEXT (with the run) or END; -1: there
 * is none. */
int daemon_ask(struct sim *sim, uint64_t run, uint64_t *ret_next);
void daemon_command(struct sim *sim, unsigned phase, enum phase_command command);
/* Returns the record, also while the daemon is down. */
const struct workflow *daemon_record(const struct sim *sim);

/* pause.c */
/* Whether the record names this daemon. */
bool daemon_is_owner(const struct sim *sim);
/* Stops the process, which keeps these effects, and lets another daemon start. */
void daemon_pause(struct sim *sim, const struct sim_outbox *left, unsigned count);
/* Wakes the daemon that sleeps, if its time has come. */
void daemon_wake(struct sim *sim);

/* matrix.c */
void matrix_add(struct sim *sim, struct workflow *workflow);
/* Chooses members, and writes them to `left`, which has room for all members. */
void matrix_choose(const struct matrix *matrix, struct core_choice *choice, struct phase **left);
/* The choice was committed, and the chosen members go on. */
void matrix_climbed(struct sim *sim, const struct core_choice *choice);
void check_matrix(const struct sim *sim, const struct workflow *workflow);

/* check.c */
void check_history(struct sim *sim, const struct core_effect *effect);
void check_remedies(struct sim *sim, const struct workflow *workflow);
void check_holds(struct sim *sim, const struct workflow *workflow);
void check_seats(const struct sim *sim, const struct workflow *workflow);

#endif
