/* What the core knows: workflows, their phases, runs, seats and allocations, as plain data.
 *
 * Only daemon/core changes these, and only in core_decide(). After its first state, a phase or run
 * changes its state only through phase_move() and run_move(). The store writes the rows that an
 * effect names and reads them back at start; the API reads them. Strings are owned by the workflow
 * and freed with it. Times are milliseconds since 1970 (0: not yet). */
#ifndef PHASED_DAEMON_CORE_MODEL_H
#define PHASED_DAEMON_CORE_MODEL_H

#include "daemon/core/state.h"
#include "lib/amount.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOKEN_LENGTH = 32,
    REASON_MAX = 256,
    NODES_MAX = 256, /* bytes of a node list as Slurm abbreviates it */
    GPU_TYPE_MAX = 64,
};

/* What Slurm grants: an intent to submit a job, and what became of the job. The token identifies an
 * allocation. The id of the job does not, since a controller gives ids out again. The record, the
 * events and the effects call an allocation a job, as Slurm does.
 *
 * A phase may leave Slurm the choice between types of GPUs. Then an allocation is asked for with
 * each type. These allocations are candidates for one seat. The candidate whose lead claims the
 * folder of the seat serves the seat. The other candidates are cancelled. If such a candidate
 * starts nevertheless, it ends at the claim. */
struct allocation {
    struct workflow *workflow;
    uint64_t id; /* ours */
    char token[TOKEN_LENGTH + 1];
    struct seat *seat; /* the allocation is asked for this seat; other seats may join it */
    uint32_t slurm_id; /* 0: the job is not known to exist */
    bool ended;        /* Slurm says that the job is over, or the job was absent too long */
    enum cluster_job_state state;
    char reason[REASON_MAX];
    char nodes[NODES_MAX];
    unsigned node_count, gpus_per_node; /* as asked for */
    char gpu_type[GPU_TYPE_MAX]; /* of a candidate; empty: it is not a candidate, and has the GPUs
                                    that the phase names */
    unsigned time_s;             /* the limit: as asked for, later as Slurm says */
    unsigned restarts;           /* as Slurm counts requeues */
    int64_t submitted_ms, started_ms, ended_ms;
    int64_t absent_since_ms; /* since when a controller that answers does not have the job */
    /* Not stored: */
    unsigned tries;         /* submissions and look-ups in a row without an answer */
    bool is_asked;          /* a submission or a look-up is pending */
    int64_t absent_seen_ms; /* when the job was last found absent */
    int64_t end_seen_ms;    /* when Slurm told that the job is over */
    bool is_closed;         /* its cancellation was asked for: no seat joins it any more */
    int64_t closed_ms;      /* when its cancellation was last asked for */
    bool is_back;           /* it has ended, and Slurm has the job again */
};

/* One place in an allocation, with a folder and a lead of its own. Runs take the seat one after
 * another: a run that is promoted in place, and the run after a requeue, are new runs in the same
 * seat. Phases that run side by side have a seat each in one allocation. The token names the
 * folder. It is the token of the first allocation that was asked for the seat. A seat that joined
 * an allocation has a token of its own. */
struct seat {
    struct workflow *workflow;
    uint64_t id;
    char token[TOKEN_LENGTH + 1];
    struct allocation *allocation; /* until a lead has claimed the folder: one of the candidates
                                      that may still come */
    unsigned slot; /* for members side by side: which part of the GPUs the seat has, from 0 */
};

/* One attempt at a phase. */
struct run {
    uint64_t id;
    struct phase *phase;
    unsigned attempt; /* from 1 within the phase */
    unsigned rung;    /* for a member: the rung of the phase when the run was added */
    enum run_state state;
    enum run_outcome outcome;     /* of a run that has ended */
    enum run_cause cause;         /* of a run that has failed */
    enum stop_reason stop_reason; /* why its lead stopped it; STOP_REASON_COUNT: it did not, or has
                                     not told */
    char message[REASON_MAX];
    struct seat *seat;  /* never NULL */
    bool in_place;      /* it goes on in the seat of the run before, promoted or requeued */
    bool has_begun;     /* its lead has reported */
    bool requeues;      /* it has ended, and its lead wants the job requeued; not stored */
    bool is_let_go;     /* it has ended, and its lead was told to leave: FX_TELL_END is pending */
    bool is_remedied;   /* a remedy has answered its failure, so no checkpoint is to blame */
    enum run_wish wish; /* the lead is told, and told again after a restart */
    char *resume_path;  /* the checkpoint it starts from; NULL: from the start */
    int64_t resume_step;
    int64_t begin_step, last_step; /* the first and the last step that it told; -1: no step */
    int64_t suspect_step;          /* checkpoints of this step or later are suspect; -1: no step */
    int64_t suspected_ms; /* when the worker told `suspect_step`, by its clock; 0: unknown, or no
                             step is suspect */
    bool has_saved;       /* the phase's checkpoint comes from this run */
    int exit_code, signal;
    /* Slurm may requeue the job of a run that has not told its end. Such a run counts as over since
     * the requeue, until the run tells its end. */
    int64_t submitted_ms, started_ms, ended_ms;
    int64_t job_started_ms;  /* when its job had started when the run was in the job. Slurm may have
                                requeued the job since then. 0: the run was not there */
    int64_t silent_since_ms; /* its job has ended: when its outcome was last looked for */
    int64_t told_ms;         /* when it was last told to stop, or to go on */
    /* It has ended: since when Slurm shows its job as running, and when it last did; not stored. */
    int64_t idle_ms, idle_seen_ms;
};

/* What is done about a failure before a person is asked: another run with other params. */
struct remedy {
    char *cause; /* the name of a cause, a guard or a check of the gate */
    enum remedy_resume resume;
    unsigned times, used; /* how often it may be tried and was tried, in the phase's whole life */
};

/* The members of a phase that does not run itself: one phase for each combination of its params. */
struct matrix {
    struct phase *phase;    /* it stands for its members */
    struct phase **members; /* in the order of the workflow; they come before their matrix */
    size_t count;
    unsigned lanes;      /* how many members run at once; 0: all, each in its own job */
    bool is_parallel;    /* the members share one job, each with a part of the GPUs */
    unsigned rung_count; /* how many rungs there are; 1: the members end once */
    struct phase *best;  /* the best member. While the matrix decides: the member that a person
                            wants. Later: the member that was chosen. NULL: no member was chosen */
};

struct phase {
    struct workflow *workflow;
    uint64_t id;
    unsigned index; /* in the workflow */
    char *name;
    enum phase_state state;
    enum phase_hold hold;    /* HOLD_USER in a skipped phase: it is held again if it waits again */
    char reason[REASON_MAX]; /* why it is where it is, for people */
    /* The budget that holds the phase, or stops its run, and in which unit too much is spent.
     * BUDGET_NONE: no budget does. */
    enum budget hold_budget;
    enum amount hold_amount;

    /* From the spec. These members never change: */
    size_t after_count;
    unsigned *after;        /* indexes of the phases before it */
    struct phase *beside;   /* `colocate`: the phase whose allocations it shares; NULL: no phase */
    struct matrix *matrix;  /* the phase is a member of this matrix; NULL: it is not a member */
    struct matrix *members; /* its members, which run for it; NULL: it runs itself */
    bool must_resume;       /* of a rehearsal: a run that `until` ended is to be resumed once */
    /* These change when a remedy or a choice changes params, by phase_adopt(): */
    bool promote_manual;
    bool fail_finally; /* `on_fail: fail`: nobody is asked */
    bool has_checkpoint;
    unsigned nodes, gpus_per_node, cpus_per_node, time_s, stop_s, linger_s;
    char *gpu_type;      /* NULL: any */
    char *alternatives;  /* all types that will do, with commas between; NULL: there is no choice */
    char *slurm_options; /* the spec's `slurm:` as sorted JSON: an allocation fits if it has the
                            same */

    /* The newest whole checkpoint of any of its runs that is not suspect; NULL: no checkpoint. */
    char *checkpoint_path;
    int64_t checkpoint_step;
    bool is_chosen; /* a person chose this checkpoint; until a run has begun */
    bool is_anew;   /* the start was chosen: no earlier checkpoint counts until a run has begun */

    unsigned attempts;
    unsigned failures[CAUSE_COUNT]; /* since the last command of a person */
    unsigned losses, stalls;        /* since the last command of a person, too */
    size_t remedy_count;
    struct remedy *remedies; /* in the order of the spec */
    struct remedy *remedy;   /* the remedy that is being worked out; NULL: no remedy is */
    struct run *run;         /* the newest, NULL before the first */
    unsigned rung;           /* from 0: the rung that the matrix or the member has reached */
    uint64_t reused;      /* of a member: an equal phase of an earlier workflow, whose results it */
    char *reused_from;    /* takes over, and the address of that phase; 0 and NULL: no phase */
    unsigned reused_rung; /* the results are taken over up to this rung; then the member runs */
    bool is_overridden;   /* a person promoted it; a matrix then chooses with the metrics that
                             are there, without `where` if `where` leaves no member, or has
                             the best member that the person named */
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
    /* In order of creation. What belongs to earlier attempts stays until the workflow goes. */
    size_t run_count, allocation_count, seat_count;
    struct run **runs;
    struct allocation **allocations;
    struct seat **seats;
};

/* Derived from the phases. */
enum workflow_state workflow_state(const struct workflow *workflow);
bool workflow_is_final(const struct workflow *workflow);

/* The phase with this name; NULL: there is no such phase, or no workflow. */
struct phase *workflow_phase(const struct workflow *workflow, const char *name);

/* The phase whose allocations the phase shares: the phase beside it, or else the phase itself. */
const struct phase *phase_anchor(const struct phase *phase);
/* Whether the phase shares its allocations: its own, or those of the phase beside it. */
bool phase_shares(const struct phase *phase);
/* Into how many parts the allocations of the phase are divided. Each of the members that run side
 * by side asks for one part. 1: the phase has the whole allocation. */
unsigned phase_parts(const struct phase *phase);
/* Whose results count as the results of the phase: its best member, or else the phase itself. */
const struct phase *phase_result(const struct phase *phase);
/* The types of GPUs that the phase may get, with commas between them; NULL: any. */
const char *phase_gpu_types(const struct phase *phase);
/* Whether Slurm has the choice between this allocation and others. */
bool allocation_is_candidate(const struct allocation *allocation);
/* The newest run in the seat, and in the seat that the allocation was asked for. */
struct run *seat_run(const struct seat *seat);
struct run *allocation_run(const struct allocation *allocation);
/* Whether all runs in the allocation have ended. */
bool allocation_is_idle(const struct allocation *allocation);
/* Whether no run will begin in the allocation: all runs have ended, and none keeps its seat for
 * another run. */
bool allocation_is_left(const struct allocation *allocation);
/* The type of its GPUs, if this phase asked for the allocation; NULL: any type. */
const char *allocation_gpu_type(const struct allocation *allocation, const struct phase *phase);
/* Since when nothing can write any more in an allocation that has ended. The later of two times
 * counts: the end that Slurm gives, and the time when the daemon saw the end. Slurm's end is
 * earlier than the end of the last processes. */
int64_t allocation_quiet_since_ms(const struct allocation *allocation);
/* Whether the seat has joined an allocation that was asked for another seat. */
bool seat_is_joined(const struct seat *seat);
/* Whether the run has no job of its own: it goes on in the seat of the run before, or its seat has
 * joined the allocation of another seat. */
bool run_is_given(const struct run *run);
/* Whether several candidates may still serve the run, since no lead has reported. */
bool seat_is_open(const struct run *run);
/* Whether the run is in the allocation, or may come to be in it. */
bool run_is_in(const struct run *run, const struct allocation *allocation);
/* Whether the run has ended, and another run may follow it in its seat: the allocation goes on. */
bool run_keeps_seat(const struct run *run);
/* The run cannot have begun before this time. A requeued job may begin its next run before the
 * daemon knows that run. */
int64_t run_earliest_ms(const struct run *run);
/* The next run for which run_is_in() is true; NULL: there are no more. `*at` begins as 0. */
struct run *allocation_next_run(const struct allocation *allocation, size_t *at);
/* Whether the run's lead may have this token, of a seat or of an allocation. */
bool run_is_served_by(const struct run *run, const char *token);
/* Takes over what the spec says from `revised`, the same phase with other params. What params
 * cannot change stays: the name, what the phase waits for, the remedies. */
void phase_adopt(struct phase *phase, const struct phase *revised);
/* How often all remedies for this cause together were tried, and may be tried. */
void phase_count_remedies(const struct phase *phase, const char *cause, unsigned *ret_used,
                          unsigned *ret_times);

/* Frees a workflow with all it owns; NULL is fine. */
void workflow_free(struct workflow *workflow);

/* Add an empty object to the workflow, which owns it. The store uses these when it loads. */
struct matrix *phase_add_matrix(struct phase *phase);
void matrix_add_member(struct matrix *matrix, struct phase *member);
struct run *workflow_add_run(struct workflow *workflow, struct phase *phase);
struct allocation *workflow_add_allocation(struct workflow *workflow);
struct seat *workflow_add_seat(struct workflow *workflow);

#endif
