/* Inside daemon/core: one step in the making. Every decision takes a struct step, reads the event's
 * time from it and adds effects to it. The functions are grouped by the file that holds them, the
 * highest layer first: a file calls those of files below it only, and tells those above it facts.
 */
#ifndef PHASED_DAEMON_CORE_STEP_H
#define PHASED_DAEMON_CORE_STEP_H

#include "daemon/core/core.h"

/* What has happened in one layer and another one has to know, which calls it and is not called by
 * it. Facts wait in the step until the decision that they came from is complete; then core_step()
 * passes them on in order. The event of the step is the first of them: so the kinds go on from
 * those of events. A fact about an allocation is told to all runs in it. */
enum fact_kind {
    FACT_JOB_KNOWN = EV_COUNT, /* an allocation: Slurm has it */
    FACT_JOB_RUNS,             /* Slurm says so */
    FACT_JOB_MISSED,           /* the end of its runs may have been missed */
    FACT_JOB_RESTARTED,        /* Slurm has requeued it: by its lead, or by itself */
    FACT_JOB_REFUSED,          /* by Slurm; its reason says why */
    FACT_JOB_GIVEN_UP,         /* it was not submitted, and need not be any more */
    FACT_JOB_STUCK,            /* Slurm will never start it; its reason says why */
    FACT_JOB_BACK,             /* it was over, and Slurm has it again */
    FACT_JOB_ENDED,            /* it serves nobody any more */
    FACT_RUN_BEGAN,            /* a run: it has an allocation */
    FACT_RUN_ENDED,            /* with an outcome */
    FACT_RUN_REQUEUED,         /* it was taken for cancelled while Slurm requeued its job */
    FACT_PHASE_SUCCEEDED,      /* a phase; `who`: the person that promoted it; empty: nobody */
    FACT_PHASE_LOST,           /* it has failed, or was cancelled */
    FACT_PHASE_REVIVED,        /* it is to run again; told to the phases after it, at once */
    FACT_SETTLED,              /* a matrix: all that follows from the event has been told */
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
    ALLOCATION_INTENDED, /* a job may or may not exist */
    ALLOCATION_KNOWN,    /* Slurm has it */
    ALLOCATION_ENDED,
    ALLOCATION_STATE_COUNT,
};

enum { ALLOCATION_EVENT_COUNT = EV_JOB_ABSENT + 1 };

struct step {
    struct core_config *config; /* with the last ids */
    struct facts *facts;
    const struct core_event *event;
    struct core_effects *effects;
    int64_t now_ms;
    const struct fact *fact; /* that is being passed on */
};

enum {
    OUTCOME_GRACE_MS = 5000,      /* from a job's end to the belief that no outcome comes */
    ABSENCE_MS = 300 * 1000,      /* of continuous absence, before a job is lost */
    ABSENCE_GAP_MS = 90 * 1000,   /* between two looks, beyond which absence is not continuous */
    CANCEL_MARGIN_MS = 30 * 1000, /* beyond its stop time, before a job is cancelled */
    LEAVE_MS = 120 * 1000,        /* for a lead to leave after its last run, besides the linger */
    FAILURE_FIRST_MS = 10 * 1000, /* from a failed run to the next submission, doubled ... */
    FAILURE_LAST_MS = 300 * 1000, /* ... up to this */
    NEXT_MARGIN_MS = 2000,        /* of the linger, for `next` to reach the lead */
    RETRY_FIRST_MS = 5000,        /* before a look-up: a slow controller may still be reading ... */
    LIMITED_TRIES_SAID = 10,      /* five minutes at a limit, and its message says so */
    RETRY_LAST_MS = 30 * 1000,    /* ... doubled up to this, as for submissions at a limit */
};

/* --- command.c: what a person wants ----------------------------------------------------------- */

void command_on_fact(struct step *step, const struct fact *fact);

/* --- graph.c: what follows for other phases --------------------------------------------------- */

/* The phases after it begin, or will not run. */
void graph_on_fact(struct step *step, const struct fact *fact);
/* The phases after it that were skipped wait for it again. */
void graph_revive_after(struct step *step, struct phase *phase);
/* Ends the workflow when all its phases are final, and opens it again when one is not. */
void workflow_settle(struct step *step, struct workflow *workflow);

/* --- matrix.c --------------------------------------------------------------------------------- */

/* Whether all members have come to an end. */
bool matrix_is_through(const struct matrix *matrix);
/* How many members are in this state. */
unsigned matrix_count(const struct matrix *matrix, enum phase_state state);
/* Whether there are results of this rung, from which the matrix can choose. */
bool matrix_has_results(const struct matrix *matrix);
/* A phase has come to its end, and may still keep its allocation. If it is a member, its matrix may
 * begin the next member there, or keep the allocation for what the matrix will decide: another
 * rung, or the phase after it. False: the matrix does not need the allocation, or there is no
 * matrix. */
bool matrix_takes_over(struct step *step, const struct phase *member);
/* Begins members that may, and lets matrices decide whose members are through. */
void matrix_settle(struct step *step, struct workflow *workflow);
void matrix_on_fact(struct step *step, const struct fact *fact);

/* --- phase.c ---------------------------------------------------------------------------------- */

/* Gives the phase a new run in a new allocation, or in one that it can join. */
void phase_start(struct step *step, struct phase *phase, const char *reason);
/* A new run in the seat of one that has ended: promoted, and its lead waits; or requeued, and the
 * job will start again. */
struct run *phase_start_in_seat(struct step *step, struct phase *phase, struct run *donor,
                                enum run_state state, const char *reason);
/* The allocation that the phase keeps is not needed any more. */
void phase_let_go(struct step *step, struct phase *phase);
/* A person is asked, or the phase fails for good, as its spec says. */
void phase_fail(struct step *step, struct phase *phase, enum phase_hold hold, const char *reason);
void phase_cancel(struct step *step, struct phase *phase, const char *reason);
/* The phase has succeeded, by what it has shown (`who` is empty) or by a person. */
void phase_succeed(struct step *step, struct phase *phase, const char *reason, const char *who);
/* Takes over what the plan says of the phase, and of those later that have not run yet: they may
 * have taken params over from it. */
void phase_adopt_plan(struct step *step, struct phase *phase, const struct workflow *plan);
void phase_on_fact(struct step *step, const struct fact *fact);

/* --- remedy.c --------------------------------------------------------------------------------- */

/* The phase's run has failed, or its gate: begins to work out the first remedy that is left for one
 * of `checks` (names with commas between; may be NULL) or for `cause` (likewise). False: none is,
 * and a person is to be asked, or whatever else the cause asks for. */
bool remedy_begin(struct step *step, struct phase *phase, const char *checks, const char *cause,
                  const char *reason);
/* Whether there were remedies for these. */
bool remedy_is_used_up(const struct phase *phase, const char *checks, const char *cause);
/* It is not wanted any more. */
void remedy_forget(struct step *step, struct phase *phase);

/* --- checkpoint.c ----------------------------------------------------------------------------- */

/* The checkpoint that the next run begins from; an empty path: the start. */
void phase_choose_checkpoint(struct phase *phase, const char *path, int64_t at);
void checkpoint_on_saved(struct step *step, const struct fact *fact);
void checkpoint_on_suspect(struct step *step, const struct fact *fact);

/* --- fit.c: questions ------------------------------------------------------------------------- */

/* Whether all that the phase waits for is there, and as a member it may have an allocation. */
bool phase_is_ready(const struct phase *phase);
/* The run by which the phase, or its matrix, keeps an allocation; NULL: it keeps no allocation. */
struct run *phase_donor(const struct phase *phase);
/* Whether the phase can go on in the allocation that this ended run still keeps. */
bool phase_fits(const struct phase *phase, const struct run *donor, int64_t now_ms);
/* The allocation that the phase can share from now on; NULL: there is none. */
struct allocation *phase_to_join(const struct step *step, const struct phase *phase);

/* --- run.c ------------------------------------------------------------------------------------ */

/* Wants the run to stop; it is told, or its job cancelled, now or as soon as that is possible. Who
 * wants it is the phase's reason until then. */
void run_stop(struct step *step, struct run *run, enum run_wish wish, const char *reason);
/* From where it really began; an empty path: the start. */
void run_set_resume(struct run *run, const char *path, int64_t at);
/* An event about the run, and a fact about an allocation for all runs in it. */
void run_on_fact(struct step *step, const struct fact *fact);
void run_on_job_fact(struct step *step, const struct fact *fact);
/* Lets a run in a seat that has just joined an allocation come as far as that has. */
void run_catch_up(struct step *step, struct run *run);
void run_on_time(struct step *step, struct run *run);
int64_t run_deadline(const struct run *run);
bool run_is_busy(const struct run *run, int64_t now_ms);

/* --- allocation.c ----------------------------------------------------------------------------- */

/* Asks Slurm for an allocation for the seat of the run, or for one with each type of GPUs that the
 * phase leaves the choice between; not before `due_ms`. */
void allocation_new(struct step *step, struct run *run, int64_t due_ms);
/* The folder of the run has no word of it. What Slurm does not know of its allocations is submitted
 * again, or given up. False: nothing more can come of them. */
bool allocation_may_come(struct step *step, struct run *run);
/* The run's lead has reported, in this allocation. */
void allocation_reported(struct step *step, struct run *run);
/* When a run that was told to stop has had its time for it. */
int64_t run_patience(const struct run *run);
/* Whether the run's allocation is wanted by another run than this one, which shall stop. */
bool allocation_is_wanted_by_others(const struct run *run);
/* Cancels the run's allocation. */
void allocation_cancel(struct step *step, struct run *run);
/* Takes a run that has not begun out of its allocation: cancels that, unless others want it. Then
 * its lead is told as soon as it asks. */
void allocation_withdraw(struct step *step, struct run *run);
enum allocation_state allocation_state(const struct allocation *allocation);
void allocation_on_fact(struct step *step, const struct fact *fact);
/* Cancels and forgets candidates that are in vain, after every event. */
void allocation_settle(struct step *step, struct workflow *workflow);
/* Whether a candidate that was cancelled, or a job that came back, is still to be seen to go. */
bool allocation_is_going(const struct workflow *workflow);

/* --- seat.c ----------------------------------------------------------------------------------- */

/* A new seat, still without an allocation. */
struct seat *seat_new(struct step *step, struct workflow *workflow);
/* Gives the run's new seat a place in the allocation of others. */
void seat_join(struct step *step, struct run *run, struct allocation *allocation);
/* A candidate that may still come to serve the seat; NULL: there is none. */
struct allocation *seat_left(const struct workflow *workflow, const struct seat *seat);
/* The run's seat will not have this allocation, which is over. False: another candidate may serve
 * it. */
bool seat_loses(struct step *step, struct run *run, const struct allocation *allocation);
/* The run's lead has reported: from the job with this token, or this id where that is not known. */
void seat_decide(struct run *run, const char *token, uint32_t slurm_id);

/* --- step.c: effects, facts, and the only places that assign a state -------------------------- */

struct core_effect *step_add(struct step *step, enum core_effect_kind kind,
                             struct workflow *workflow);
void step_save_workflow(struct step *step, struct workflow *workflow);
void step_save_phase(struct step *step, struct phase *phase);
void step_save_run(struct step *step, struct run *run);
void step_save_seat(struct step *step, struct run *run);
void step_save_job(struct step *step, struct workflow *workflow, struct allocation *allocation);
/* Effects on a run and its allocation; `done` takes them out of the outbox again. */
struct core_effect *step_do(struct step *step, enum core_effect_kind kind, struct run *run);
void step_done(struct step *step, enum core_effect_kind kind, struct run *run);
/* The same on any allocation. */
struct core_effect *step_do_job(struct step *step, enum core_effect_kind kind,
                                struct workflow *workflow, struct allocation *allocation);
void step_done_job(struct step *step, enum core_effect_kind kind, struct workflow *workflow,
                   struct allocation *allocation);
void step_new_token(struct step *step, char ret_token[TOKEN_LENGTH + 1]);

/* Tells whoever listens to it. `who` is borrowed from the event. */
void step_tell_job(struct step *step, enum fact_kind kind, struct workflow *workflow,
                   struct allocation *allocation);
void step_tell_run(struct step *step, enum fact_kind kind, struct run *run);
void step_tell_phase(struct step *step, enum fact_kind kind, struct phase *phase, const char *who);
/* Takes the oldest fact; false: there is none. */
bool step_take(struct step *step, struct fact *ret_fact);

/* `reason` may be empty, and the phase's own. */
void phase_set_reason(struct phase *phase, const char *reason);
/* Moves the phase, which must be allowed to, and records why. */
void phase_move(struct step *step, struct phase *phase, enum phase_state to, const char *reason);
/* Moves to PHASE_HELD, for this. */
void phase_move_held(struct step *step, struct phase *phase, enum phase_hold hold,
                     const char *reason);
void run_move(struct step *step, struct run *run, enum run_state to, const char *message);

#endif
