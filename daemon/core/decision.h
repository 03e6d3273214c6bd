/* Inside daemon/core: a decision while it is made, from one event to all effects. A function takes
 * the struct decision if it adds effects, tells facts or needs the event or its time. Other
 * functions take only what they read or set. The functions are grouped by file, the highest layer
 * first. A file calls files below it only, and tells files above it facts. */
#ifndef PHASED_DAEMON_CORE_DECISION_H
#define PHASED_DAEMON_CORE_DECISION_H

#include "daemon/core/core.h"

/* What has happened in one layer, and a higher layer has to know. Facts wait in the decision until
 * the function that told them is done. Then core_drain() passes the facts on in order. The event
 * of the decision is the first fact, so the kinds of facts follow the kinds of events. A fact
 * about an allocation is told to all runs in the allocation. */
enum fact_kind {
    FACT_JOB_KNOWN = EV_COUNT, /* an allocation: Slurm has the job */
    FACT_JOB_RUNS,             /* Slurm says that the job runs */
    FACT_JOB_WAITS,            /* Slurm says that the job is pending */
    FACT_JOB_MISSED,           /* the end of its runs may have been missed */
    FACT_JOB_RESTARTED,        /* Slurm has requeued the job, by itself or for the lead */
    FACT_JOB_REFUSED,          /* Slurm refused the job; the allocation's reason says why */
    FACT_JOB_GIVEN_UP,         /* the job was not submitted, and is not needed any more */
    FACT_JOB_STUCK,            /* Slurm will never start the job; the reason says why */
    FACT_JOB_BACK,             /* the job was over, and Slurm has it again */
    FACT_JOB_ENDED,            /* the allocation serves no run any more */
    FACT_RUN_BEGAN,            /* a run: it has an allocation */
    FACT_RUN_WAITS,            /* its job waits, and the daemon believed that it runs */
    FACT_RUN_ENDED,            /* it has ended, with an outcome */
    FACT_RUN_REQUEUED,         /* it looked cancelled, but Slurm has requeued its job */
    FACT_RUN_CANCELLED,        /* it looked cancelled, and its job is over */
    FACT_PHASE_SUCCEEDED,      /* a phase; `who`: the person that promoted it; empty: no person */
    FACT_PHASE_LOST,           /* it has failed, was cancelled or was skipped */
    FACT_PHASE_REVIVED,        /* it shall run again; told to the phases after it, at once */
    FACT_SETTLED,              /* a matrix: what followed from the event is decided */
    FACT_COUNT,
};

struct fact {
    unsigned kind; /* of a fact, or of an event */
    struct workflow *workflow;
    struct phase *phase;
    struct run *run;
    struct allocation *allocation;
    const char *who; /* borrowed from the event */
};

struct facts {
    struct fact *items;
    size_t count, taken, capacity;
};

/* Where an allocation is, for the table in allocation.c. */
enum allocation_state {
    ALLOCATION_INTENDED, /* a job may exist or not */
    ALLOCATION_KNOWN,    /* Slurm has the job */
    ALLOCATION_ENDED,
    ALLOCATION_STATE_COUNT,
};

struct decision {
    struct core_config *config; /* with the last ids */
    struct facts *facts;
    const struct core_event *event;
    struct core_effects *effects;
    int64_t now_ms;
    const struct fact *fact; /* the fact that is being passed on */
};

enum {
    OUTCOME_GRACE_MS = 5000, /* how long after a job's end an outcome may still come */
    ABSENCE_MS = 300 * 1000, /* how long a job must be absent without a break before it is lost */
    ABSENCE_GAP_MS = 90 * 1000, /* between looks at most; after a longer gap, absence counts anew */
    CANCEL_MARGIN_MS = 30 * 1000, /* added to a run's time to stop, before its job is cancelled */
    CANCEL_AGAIN_MS = 10 * 1000,  /* from a cancellation to the next, if Slurm has forgotten it */
    LEAVE_MS = 120 * 1000,        /* for a lead to leave after its last run and the linger */
    FAILURE_FIRST_MS = 10 * 1000, /* from a failed run to the next submission; doubles each time */
    FAILURE_LAST_MS = 300 * 1000, /* the longest such pause */
    CLOCK_SAME_MS = 2000,         /* two clocks that differ by less agree */
    NEXT_MARGIN_MS = 2000,        /* the part of the linger in which `next` must reach the lead */
    RETRY_FIRST_MS = 5000, /* before a look-up: Slurm may read a request late; doubles each time */
    RETRY_LAST_MS = 30 * 1000, /* the longest pause, also for submissions at a limit */
    LIMITED_TRIES_SAID = 10,   /* after so many tries (five minutes), the job's message says so */
};

/* --- command.c: what a person wants ----------------------------------------------------------- */

void command_on_fact(struct decision *decision, const struct fact *fact);

/* --- graph.c: what follows for other phases --------------------------------------------------- */

/* A phase has come to its end: the phases after it begin, or are skipped. */
void graph_on_fact(struct decision *decision, const struct fact *fact);
/* The phase waits for the phases before it. If one of them is lost, the phase is skipped until that
 * one is run again. */
void graph_wait(struct decision *decision, struct phase *phase, const char *reason);
/* The phases after `phase` that were skipped wait for `phase` again. */
void graph_revive_after(struct decision *decision, struct phase *phase);
/* Ends the workflow when all its phases are final, and opens it again when a phase is not. */
void workflow_settle(struct decision *decision, struct workflow *workflow);

/* --- matrix.c --------------------------------------------------------------------------------- */

/* Whether all members have come to an end. */
bool matrix_is_through(const struct matrix *matrix);
unsigned matrix_count(const struct matrix *matrix, enum phase_state state);
/* Whether there are results of this rung, from which the matrix can choose. */
bool matrix_has_results(const struct matrix *matrix);
/* A phase has come to its end, and may still keep its allocation. If it is a member, its matrix may
 * begin the next member there, or keep the allocation for what the matrix will decide: another
 * rung, or the phase after it. False: the matrix does not need the allocation, or there is no
 * matrix. */
bool matrix_takes_over(struct decision *decision, const struct phase *member);
/* Begins the members that may begin. A matrix whose members have come to an end decides. */
void matrix_settle(struct decision *decision, struct workflow *workflow);
void matrix_on_fact(struct decision *decision, const struct fact *fact);

/* --- phase.c ---------------------------------------------------------------------------------- */

/* Gives the phase a new run in a new allocation, or in one that it can join. The run begins at
 * `due_ms`; 0: at once. */
void phase_start(struct decision *decision, struct phase *phase, const char *reason,
                 int64_t due_ms);
/* Gives the phase a new run in the seat of a run that has ended. Either the phase is promoted, and
 * the lead waits for the run; or the run was requeued, and the job will start again. */
struct run *phase_start_in_seat(struct decision *decision, struct phase *phase, struct run *donor,
                                enum run_state state, const char *reason);
/* Gives up the allocation that the phase keeps. */
void phase_let_go(struct decision *decision, struct phase *phase);
/* The phase waits for a person, or fails for good, as its spec says. */
void phase_fail(struct decision *decision, struct phase *phase, enum phase_hold hold,
                const char *reason);
void phase_cancel(struct decision *decision, struct phase *phase, const char *reason);
/* The phase has succeeded: a person says so (`who`), or else its gate or its choice. */
void phase_succeed(struct decision *decision, struct phase *phase, const char *reason,
                   const char *who);
/* Takes over what the revision says of the phase and of later phases that have not run yet. The
 * later phases may take params over from the phase. */
void phase_adopt_revision(struct decision *decision, struct phase *phase,
                          const struct workflow *revision);
void phase_on_fact(struct decision *decision, const struct fact *fact);

/* --- remedy.c --------------------------------------------------------------------------------- */

/* The phase's run or gate has failed. Begins to work out the first remedy that is left for one of
 * `checks`, or else for `cause`. Both have names with commas between, or are NULL. False: no remedy
 * is left. */
bool remedy_begin(struct decision *decision, struct phase *phase, const char *checks,
                  const char *cause, const char *reason);
/* Whether there are or were remedies for these checks or this cause. */
bool remedy_is_used_up(const struct phase *phase, const char *checks, const char *cause);
/* The phase does not need its remedy any more. */
void remedy_forget(struct decision *decision, struct phase *phase);

/* --- checkpoint.c ----------------------------------------------------------------------------- */

/* Says from which checkpoint the next run begins; an empty path: from the start. */
void phase_choose_checkpoint(struct phase *phase, const char *path, int64_t at);
void checkpoint_on_saved(struct decision *decision, const struct fact *fact);
void checkpoint_on_suspect(struct decision *decision, const struct fact *fact);

/* --- fit.c: questions ------------------------------------------------------------------------- */

/* Whether nothing keeps the phase from beginning: the phases before it have succeeded, and its
 * matrix has a lane for it. A phase with members never begins. */
bool phase_is_ready(const struct phase *phase);
/* The run that keeps an allocation for what comes after the phase; NULL: no run does. */
struct run *phase_donor(const struct phase *phase);
/* Whether the phase can go on in the allocation that this run keeps. */
bool phase_fits(const struct phase *phase, const struct run *donor, int64_t now_ms);
/* The allocation that the phase can share from now on; NULL: the phase needs its own. */
struct allocation *phase_to_join(const struct decision *decision, const struct phase *phase);

/* --- run.c ------------------------------------------------------------------------------------ */

/* The run shall stop: its lead is told, or its job is cancelled, as soon as possible. Until then
 * the reason of the phase says who wants that. */
void run_stop(struct decision *decision, struct run *run, enum run_wish wish, const char *reason);
/* Says from where the run really began; an empty path: from the start. */
void run_set_resume(struct run *run, const char *path, int64_t at);
/* A fact is about a run, or about an allocation and so about all runs in the allocation. */
void run_on_fact(struct decision *decision, const struct fact *fact);
void run_on_job_fact(struct decision *decision, const struct fact *fact);
/* The run's seat has just joined an allocation. Moves the run to the state of the allocation. */
void run_catch_up(struct decision *decision, struct run *run);
void run_on_time(struct decision *decision, struct run *run);
int64_t run_deadline(const struct run *run);
bool run_is_busy(const struct run *run, int64_t now_ms);

/* --- allocation.c ----------------------------------------------------------------------------- */

/* Asks Slurm for an allocation for the seat of the run, not before `due_ms`. If the phase leaves
 * the choice between types of GPUs, asks for an allocation with each type. */
void allocation_new(struct decision *decision, struct run *run, int64_t due_ms);
/* The folder of the run holds no outcome. Allocations of the run that Slurm does not know are
 * submitted again, or given up. False: no allocation of the run can start any more. */
bool allocation_may_come(struct decision *decision, struct run *run);
/* Sets the start of the allocation, and of the runs that know it. */
void allocation_set_start(struct decision *decision, struct allocation *allocation,
                          int64_t started_ms);
/* The run began since the present start of its allocation. If the run began before this start by
 * their clocks, moves the start to the start of the run. Otherwise the time of the run would also
 * count as waiting. */
void allocation_pull_start(struct decision *decision, struct run *run);
/* The run's lead, or the outcome of the run, names the job. The answer to its submission may be
 * missing forever. */
void allocation_learn_id(struct decision *decision, const struct run *run);
/* The run's lead has reported, so its allocation runs. */
void allocation_reported(struct decision *decision, struct run *run);
void allocation_cancel(struct decision *decision, struct run *run);
/* The run has not begun, and shall not: cancels its allocation. If other runs want the allocation,
 * the lead is told instead, as soon as it asks. */
void allocation_withdraw(struct decision *decision, struct run *run);
enum allocation_state allocation_state(const struct allocation *allocation);
void allocation_on_fact(struct decision *decision, const struct fact *fact);
/* Cancels candidates that are superseded, and jobs that Slurm has requeued after their last run.
 * Called after every event. */
void allocation_settle(struct decision *decision, struct workflow *workflow);
/* Whether a cancelled candidate, or a job that came back, still exists. */
bool allocation_is_going(const struct workflow *workflow);

/* --- need.c: questions ------------------------------------------------------------------------ */

/* The time by which a run that was told to stop must have stopped. */
int64_t run_patience(const struct run *run);
/* Whether another run wants to go on in the allocation of this run, which shall stop. */
bool allocation_is_wanted_by_others(const struct run *run);
/* Whether a run still waits for the allocation. It may wait for other candidates, too. */
bool allocation_is_awaited(const struct allocation *allocation);
/* Whether a run that is in the allocation, or may come to be in it, wants to go on. */
bool allocation_is_wanted(const struct allocation *allocation);
/* Whether Slurm held the job of the run, so that the job was cancelled, and no other candidate is
 * left. The job of a run that shall go on is cancelled for no other reason. */
bool run_is_stuck(const struct run *run);
/* Whether the reason and the nodes are those that were noted. What was too long was cut. */
bool allocation_is_seen(const struct allocation *allocation, const char *reason, const char *nodes);
/* Whether the event tells that the job waits or runs although it was cancelled some time ago. */
bool allocation_outlives_cancel(const struct core_event *event);
/* Whether the event shows the job as running although all its runs have ended. */
bool allocation_is_left_running(const struct allocation *allocation,
                                const struct core_event *event);

/* --- seat.c ----------------------------------------------------------------------------------- */

/* A new seat, still without an allocation. */
struct seat *seat_new(struct decision *decision, struct workflow *workflow);
/* Gives the run's new seat a place in the allocation of others. */
void seat_join(struct decision *decision, struct run *run, struct allocation *allocation);
/* A candidate that may still come to serve the seat; NULL: no candidate may. */
struct allocation *seat_left(const struct seat *seat);
/* The allocation is over, and is taken from its seat. False: another candidate may serve the
 * seat. */
bool seat_loses(struct decision *decision, const struct allocation *allocation);
/* The allocation was over, and is there again. An open seat takes it back if the seat has only an
 * allocation that is over. */
void seat_regains(struct decision *decision, struct allocation *allocation);
/* The run's lead has reported from the job with this token. NULL: from the job with this id. */
void seat_decide(struct run *run, const char *token, uint32_t slurm_id);
/* Whether the run has no use for this candidate. The run is the newest in its seat. */
bool seat_is_done_with(const struct run *run, const struct allocation *candidate);

/* --- decision.c: effects, facts, and the only places that change a state ---------------------- */

struct core_effect *decision_add(struct decision *decision, enum core_effect_kind kind,
                                 struct workflow *workflow);
void decision_save_workflow(struct decision *decision, struct workflow *workflow);
void decision_save_phase(struct decision *decision, struct phase *phase);
void decision_save_run(struct decision *decision, struct run *run);
void decision_save_seat(struct decision *decision, struct run *run);
void decision_save_job(struct decision *decision, struct allocation *allocation);
/* Effects on a run and its allocation; `done` deletes them from the outbox again. */
struct core_effect *decision_do(struct decision *decision, enum core_effect_kind kind,
                                struct run *run);
void decision_done(struct decision *decision, enum core_effect_kind kind, struct run *run);
/* Do the same for any allocation. */
struct core_effect *decision_do_job(struct decision *decision, enum core_effect_kind kind,
                                    struct allocation *allocation);
void decision_done_job(struct decision *decision, enum core_effect_kind kind,
                       struct allocation *allocation);
void decision_new_token(struct decision *decision, char ret_token[TOKEN_LENGTH + 1]);

/* Jobs and runs begin and end by other clocks, which may differ from the daemon's clock: a clock
 * may be wrong, or the daemon's clock was set. Returns when something began. It cannot have begun
 * before `least_ms`. If the told time is impossible, the begin is now. */
int64_t decision_began_ms(const struct decision *decision, int64_t told_ms, int64_t least_ms);
/* Something began at `began_ms`. Returns when it ended. `told_began_ms` is its begin by the clock
 * that tells the end; 0: that clock does not say. It lasted as long as that clock says. */
int64_t decision_ended_ms(const struct decision *decision, int64_t began_ms, int64_t told_began_ms,
                          int64_t told_ended_ms);

/* Tell a fact to the layer that listens to it. `who` is borrowed from the event. */
void decision_tell_job(struct decision *decision, enum fact_kind kind,
                       struct allocation *allocation);
void decision_tell_run(struct decision *decision, enum fact_kind kind, struct run *run);
void decision_tell_phase(struct decision *decision, enum fact_kind kind, struct phase *phase,
                         const char *who);
/* Takes the oldest fact; false: no fact is left. */
bool decision_take(struct decision *decision, struct fact *ret_fact);

/* `reason` may be empty, or be the phase's own reason. */
void phase_set_reason(struct phase *phase, const char *reason);
/* Moves the phase, which must be allowed, and records why. */
void phase_move(struct decision *decision, struct phase *phase, enum phase_state to,
                const char *reason);
/* Moves the phase to PHASE_HELD, for this reason. */
void phase_move_held(struct decision *decision, struct phase *phase, enum phase_hold hold,
                     const char *reason);
void run_move(struct decision *decision, struct run *run, enum run_state to, const char *message);

#endif
