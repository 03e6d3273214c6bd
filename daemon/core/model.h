/* What the core knows: workflows, their phases, runs and jobs, as plain data.
 *
 * Only daemon/core changes these, only in core_step(), and a state only through phase_move() and
 * run_move(). The store writes the rows that an effect names and reads them back at start; the API
 * reads them. Strings are owned by the workflow and freed with it. Times are milliseconds since
 * 1970 (0: not yet). */
#ifndef PHASED_DAEMON_CORE_MODEL_H
#define PHASED_DAEMON_CORE_MODEL_H

#include "daemon/core/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOKEN_LENGTH = 32,
    REASON_MAX = 256,
    NODES_MAX = 256, /* bytes of a node list as Slurm abbreviates it */
    GPU_TYPE_MAX = 64,
};

/* One Slurm job: an intent to submit, and what became of it. It may serve several runs, one after
 * another. Identity is the token; the id is not, since a controller gives ids out again.
 *
 * Phases that run side by side share an allocation. Each has a job here, with a folder and a lead
 * of its own, but only one of them, the host, is submitted: the others go its way, and Slurm does
 * not know their tokens.
 *
 * Where a phase leaves Slurm the choice between GPUs, its run has a job for each of them: rivals,
 * which share the folder of the first one. Whose lead claims that folder serves the run; the others
 * are cancelled, and one that starts nevertheless ends at the claim. */
struct job {
    uint64_t id; /* ours */
    char token[TOKEN_LENGTH + 1];
    struct job *host;  /* in whose allocation it is; NULL: its own */
    struct job *first; /* of the rivals, itself too; NULL: it has none */
    uint32_t slurm_id; /* 0: not known to exist */
    bool ended;        /* Slurm says that it is over, or it was absent too long */
    char state[24];    /* Slurm's, as cluster_job_state_name() has it; empty: never seen */
    char reason[REASON_MAX];
    char nodes[NODES_MAX];
    unsigned node_count, gpus_per_node; /* as asked for */
    char gpu_type[GPU_TYPE_MAX];        /* likewise; empty: any, or as its phase */
    unsigned slot; /* which part of the GPUs is its: of members of a matrix side by side; from 0 */
    unsigned time_s;   /* the limit: as asked for, then as Slurm has it */
    unsigned restarts; /* as Slurm counts requeues */
    int64_t submitted_ms, started_ms, ended_ms;
    int64_t absent_since_ms; /* continuously, from a controller that answers */
    /* Not stored: */
    unsigned tries;         /* submissions and look-ups without an answer in a row */
    bool is_asked;          /* a submission or look-up is under way or will be */
    int64_t absent_seen_ms; /* when it was last found absent */
    int64_t end_seen_ms;    /* when Slurm told that it is over */
    bool is_requeued;       /* the run that has just ended had its lead requeue the job */
    bool is_closed;         /* it was asked to be cancelled: nobody joins it any more */
    bool is_back;           /* it has ended, and Slurm has it again */
};

/* One attempt at a phase. */
struct run {
    uint64_t id;
    struct phase *phase;
    unsigned attempt; /* from 1 within the phase */
    unsigned rung;    /* of a member: its phase's when the run was added */
    enum run_state state;
    enum run_outcome outcome; /* of an ended run */
    enum run_cause cause;     /* of a failed run */
    char message[REASON_MAX];
    struct job *job;  /* always there; shared after a promotion in place; any of several rivals
                         until it has begun, one that may still come where there is one */
    bool in_place;    /* goes on in the job of the run before: promoted, or requeued */
    bool has_begun;   /* its lead has reported */
    bool requeues;    /* ended, and its lead had the job requeued; not stored */
    bool is_let_go;   /* ended, and its lead was told to leave; not stored */
    bool is_remedied; /* its failure was answered by other params: it was no checkpoint's fault */
    /* What is wanted of a run that has not ended: it is told, and told again after a restart. */
    enum run_wish { WISH_NONE, WISH_CANCEL, WISH_HOLD } wish;
    char *resume_path; /* the checkpoint it starts from; NULL: from the start */
    int64_t resume_step;
    int64_t begin_step, last_step; /* the first and the last one that it told; -1: none */
    int64_t suspect_step; /* what it saved then or later is not gone on from by itself; -1: none */
    bool has_saved;       /* the phase's checkpoint is its own; not stored */
    int exit_code, signal;
    int64_t submitted_ms, started_ms, ended_ms;
    int64_t silent_since_ms; /* its job has ended; when its outcome was last looked for */
    int64_t told_ms;         /* when it was last told to stop, or to go on */
    int64_t idle_ms;         /* ended: since when its job runs on for nothing; not stored */
};

/* What is done about a failure before a person is asked: other params, and another run. */
struct remedy {
    char *cause; /* a cause's name, or a guard's or gate check's */
    enum remedy_resume resume;
    unsigned times, used; /* how often it may be tried, and was, in the life of the phase */
};

struct phase {
    struct workflow *workflow;
    uint64_t id;
    unsigned index; /* in the workflow */
    char *name;
    enum phase_state state;
    enum phase_hold hold;
    char reason[REASON_MAX]; /* why it is where it is, for people */

    /* From the spec; these never change, ... */
    size_t after_count;
    unsigned *after;      /* indexes of the phases before it */
    struct phase *beside; /* `colocate`: whose allocations it shares; NULL: it has its own */
    struct phase *matrix; /* of a member: whose it is, and that comes later; NULL: no member */
    bool is_matrix;       /* it has members, and never runs itself */
    unsigned lanes;       /* of a matrix: how many members run at once; 0: all, each in its job */
    bool is_parallel;     /* of a matrix: its members share one job, each with a part of the GPUs */
    bool must_resume;     /* of a rehearsal: a run that `until` ended is to go on once */
    unsigned rung_count;  /* of a matrix: how often the better members go on; 1: they end once */
    /* ... these when a remedy changes params: phase_adopt(). */
    bool promote_manual;
    bool fail_finally; /* `on_fail: fail`: nobody is asked */
    bool has_checkpoint;
    unsigned nodes, gpus_per_node, cpus_per_node, time_s, stop_s, linger_s;
    char *gpu_type;     /* NULL: any */
    char *alternatives; /* types with commas between, the first one too; NULL: there is no choice */
    char *slurm_options; /* the spec's `slurm:` as sorted JSON: allocations with equal ones fit */

    /* The newest whole checkpoint of any of its runs that is not suspect; NULL: none. */
    char *checkpoint_path;
    int64_t checkpoint_step;
    bool is_chosen; /* a person wants exactly this one, until a run has begun; not stored */
    bool is_anew;   /* the start was chosen: until then, nothing that was done before counts */

    unsigned attempts;
    unsigned failures[CAUSE_COUNT]; /* since the last command of a person */
    unsigned losses, stalls;        /* likewise */
    size_t remedy_count;
    struct remedy *remedies; /* in the order of the spec */
    struct remedy *remedy;   /* that is being worked out; NULL: none */
    struct run *run;         /* the newest, NULL before the first */
    unsigned rung;           /* from 0: that a matrix is at; that a member was let go on to */
    uint64_t reused;         /* of a member: the phase of an earlier workflow that was its like, */
    char *reused_from;       /* and its address: it has the results of that; 0 and NULL: its own */
    unsigned reused_rung;    /* up to this rung, and then runs itself */
    struct phase *best;      /* of a matrix that has decided: its best member; NULL: none is */
    bool is_overridden;      /* a person promoted it; of a matrix: chooses without `where`, or that
                                its best is this one */
};

struct workflow {
    uint64_t id;
    char *name;
    int64_t submitted_ms, ended_ms;
    /* What the submission asked for: */
    int priority;                    /* the higher, the earlier its jobs are submitted */
    uint64_t after;                  /* a workflow that must have succeeded; 0: none */
    unsigned window_from, window_to; /* minutes of the day between which jobs are submitted; equal:
                                      * at any time */
    size_t phase_count;
    struct phase *phases; /* in topological order */
    /* Runs and jobs in order of creation; those of earlier attempts stay until the workflow goes.
     */
    size_t run_count, job_count;
    struct run **runs;
    struct job **jobs;
};

/* Derived from the phases: running, held (some phase is, and none moves), succeeded, failed,
 * cancelled. */
const char *workflow_state(const struct workflow *workflow);
bool workflow_is_final(const struct workflow *workflow);

/* Whether the phase shares its allocations, either way. */
bool phase_shares(const struct phase *phase);
/* In how many parts its allocations are divided: a part is what a member of a matrix asks for whose
 * members run side by side; 1: it has the whole. */
unsigned phase_parts(const struct phase *phase);
/* The job that Slurm knows: the job itself, or its host. */
struct job *job_host(struct job *job);
/* Whether the job with this token may serve the run: its own, the host of that, or a rival. */
bool run_is_served_by(const struct run *run, const char *token);
/* The type of the GPUs that a job of this phase has; NULL: any. */
const char *job_gpu_type(const struct job *job, const struct phase *phase);
/* Since when nothing of a job that has ended can write: since Slurm's end, or since the daemon saw
 * the end, whichever is later. Slurm dates the end before the last processes are gone. */
int64_t job_quiet_since_ms(const struct job *job);
/* The job in whose folder the job has its place: itself, or the first of the rivals. */
const struct job *job_folder(const struct job *job);
/* The run that the job serves or will serve: the newest of its runs, or, of a rival that has none,
 * the one that it was to serve; never NULL. */
struct run *job_run(const struct workflow *workflow, const struct job *job);
/* Whether all runs in the allocation have ended. */
bool job_is_idle(const struct workflow *workflow, const struct job *job);
/* Takes over what the spec says from `plan`, the same phase with other params. What cannot change
 * by params (its name, what it waits for, its remedies) stays. */
void phase_adopt(struct phase *phase, const struct phase *plan);
/* How often the remedies for this cause were tried in all, and how often they may be. */
void phase_count_remedies(const struct phase *phase, const char *cause, unsigned *ret_used,
                          unsigned *ret_times);

/* Frees a workflow with all it owns; NULL is fine. */
void workflow_free(struct workflow *workflow);

/* Adds an empty run or job to the workflow, which owns it. The store uses these when it loads. */
struct run *workflow_add_run(struct workflow *workflow, struct phase *phase);
struct job *workflow_add_job(struct workflow *workflow);

#endif
