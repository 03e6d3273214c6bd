/* Inside daemon/core: one step in the making. Every decision takes a struct step, reads the event's
 * time from it and adds effects to it. The functions are grouped by the file that holds them, the
 * highest layer first: a file calls those of files below it only, and tells those above it facts.
 */
#ifndef PHASED_DAEMON_CORE_STEP_H
#define PHASED_DAEMON_CORE_STEP_H

#include "daemon/core/core.h"

/* What has happened in one layer and another one has to know, which calls it and is not called by
 * it. Facts wait in the step until the decision that they came from is complete; then core_step()
 * passes them on in order. A fact about a job or a run is told with the run. */
enum fact_kind {
    FACT_JOB_KNOWN,       /* Slurm has it */
    FACT_JOB_RUNS,        /* Slurm says so */
    FACT_JOB_MISSED,      /* Slurm did not know it: the end of its run may have been missed */
    FACT_JOB_RESTARTED,   /* Slurm has requeued it: by its lead, or by itself after it killed it */
    FACT_JOB_REFUSED,     /* by Slurm; its reason says why */
    FACT_JOB_GIVEN_UP,    /* it was not submitted, and need not be any more */
    FACT_JOB_STUCK,       /* Slurm will never start it; its reason says why */
    FACT_JOB_BACK,        /* it was over, and Slurm has it again */
    FACT_JOB_ENDED,       /* it serves nobody any more */
    FACT_RUN_BEGAN,       /* it has an allocation */
    FACT_RUN_ENDED,       /* with an outcome */
    FACT_RUN_REQUEUED,    /* it was taken for cancelled while Slurm requeued its job */
    FACT_PHASE_SUCCEEDED, /* `who`: the person that promoted it; empty: nobody */
    FACT_PHASE_LOST,      /* it has failed, or was cancelled */
    FACT_COUNT,
};

struct fact {
    enum fact_kind kind;
    struct phase *phase;
    struct run *run;
    struct job *job;
    const char *who; /* borrowed from the event */
};

struct facts {
    struct fact *items;
    size_t count, taken, capacity;
};

struct step {
    struct core_config *config; /* with the last ids */
    struct facts *facts;
    const struct core_event *event;
    struct core_effects *effects;
    int64_t now_ms;
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

void command_carry_out(struct step *step, struct phase *phase);

/* --- graph.c: what follows for other phases --------------------------------------------------- */

/* Those after it begin, the first fitting one in its allocation. */
void graph_on_succeeded(struct step *step, const struct fact *fact);
/* Those after it will not run; another member may go on in its allocation. */
void graph_on_lost(struct step *step, const struct fact *fact);
/* What waited for a phase that was skipped over may wait for it again. */
void graph_revive_after(struct step *step, struct phase *phase);
/* Ends the workflow when all its phases are final, and opens it again when one is not. */
void workflow_settle(struct step *step, struct workflow *workflow);

/* --- matrix.c --------------------------------------------------------------------------------- */

/* Begins the next member in the allocation that this one, which is through, still keeps. False:
 * there is none, or it does not fit. */
bool matrix_hand_over(struct step *step, struct phase *member);
/* Whether the allocation of this member, the last one of a packed matrix to come to its end, is
 * kept for what the matrix will decide: another rung, or the phase after it. */
bool matrix_keeps(const struct phase *member);
/* The run that keeps it; NULL: there is none. */
struct run *matrix_donor(const struct phase *matrix);
/* It is not needed any more. */
void matrix_let_go(struct step *step, struct phase *matrix);
/* Begins members that may, and lets matrices decide whose members are through. */
void matrix_settle(struct step *step, struct workflow *workflow);
void matrix_on_judged(struct step *step, struct phase *matrix);

/* --- phase.c ---------------------------------------------------------------------------------- */

/* Gives the phase a new run in a new job. */
void phase_start(struct step *step, struct phase *phase, const char *reason);
/* A new run in the job of one that has ended: promoted, and its lead waits; or requeued, and the
 * job will start again. */
struct run *phase_start_in_job(struct step *step, struct phase *phase, struct run *donor,
                               enum run_state state, const char *reason);
/* The allocation that the phase's ended run keeps is not needed any more. */
void phase_let_go(struct step *step, struct phase *phase);
/* A person is asked, or the phase fails for good, as its spec says. */
void phase_fail(struct step *step, struct phase *phase, enum phase_hold hold, const char *reason);
void phase_cancel(struct step *step, struct phase *phase, const char *reason);
/* The phase has succeeded, by its gate (`who` is empty) or by a person. */
void phase_promote(struct step *step, struct phase *phase, const char *who);
/* Takes over what the plan says of the phase, and of those later that have not run yet: they may
 * have taken params over from it. */
void phase_adopt_plan(struct step *step, struct phase *phase, const struct workflow *plan);
void phase_on_run_began(struct step *step, const struct fact *fact);
void phase_on_run_ended(struct step *step, const struct fact *fact);
void phase_on_run_requeued(struct step *step, const struct fact *fact);
void phase_on_judged(struct step *step, struct phase *phase);
void phase_on_remedied(struct step *step, struct phase *phase);

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
void checkpoint_on_saved(struct step *step, struct run *run);
void checkpoint_on_suspect(struct step *step, struct run *run);

/* --- fit.c: questions ------------------------------------------------------------------------- */

/* Whether all that the phase waits for is there, and as a member it may have an allocation. */
bool phase_is_ready(const struct phase *phase);
/* Whether the phase can go on in the allocation that this ended run still keeps. */
bool phase_fits(const struct phase *phase, const struct run *donor, int64_t now_ms);
/* The job whose allocation the phase can share from now on; NULL: there is none. */
struct job *job_to_join(const struct step *step, const struct phase *phase);
/* The first part of the host's allocation in which nothing runs. */
unsigned job_free_slot(const struct workflow *workflow, const struct job *host);

/* --- run.c ------------------------------------------------------------------------------------ */

/* Wants the run to stop; it is told, or its job cancelled, now or as soon as that is possible. Who
 * wants it is the phase's reason until then. */
void run_stop(struct step *step, struct run *run, enum run_wish wish, const char *reason);
/* From where it really began; an empty path: the start. */
void run_set_resume(struct run *run, const char *path, int64_t at);
void run_on_started(struct step *step, struct run *run);
void run_on_stopping(struct step *step, struct run *run);
void run_on_ended(struct step *step, struct run *run);
void run_on_silent(struct step *step, struct run *run);
void run_on_sealed(struct step *step, struct run *run);
void run_on_progress(struct step *step, struct run *run);
void run_on_job_known(struct step *step, const struct fact *fact);
void run_on_job_runs(struct step *step, const struct fact *fact);
void run_on_job_missed(struct step *step, const struct fact *fact);
void run_on_job_restarted(struct step *step, const struct fact *fact);
void run_on_job_refused(struct step *step, const struct fact *fact);
void run_on_job_given_up(struct step *step, const struct fact *fact);
void run_on_job_stuck(struct step *step, const struct fact *fact);
void run_on_job_back(struct step *step, const struct fact *fact);
void run_on_job_ended(struct step *step, const struct fact *fact);
void run_on_time(struct step *step, struct run *run);
int64_t run_deadline(const struct run *run);
bool run_is_busy(const struct run *run, int64_t now_ms);

/* --- beside.c: jobs that share an allocation -------------------------------------------------- */

/* Makes the new job of a run a guest of the host, as far as that has come. */
void job_join(struct step *step, struct run *run, struct job *host);
/* Lets all guests go the way of their hosts, after every event. */
void job_settle(struct step *step, struct workflow *workflow);

/* --- job.c: what Slurm tells ------------------------------------------------------------------ */

/* Forgets the job of a run that was not submitted and need not be any more; false: it still has to
 * be. */
bool job_gives_up(struct step *step, struct run *run);
/* Slurm has this job of the run, by this id. */
void job_adopt(struct step *step, struct run *run, struct job *job, uint32_t slurm_id);
/* The job serves nobody any more. */
void job_end(struct step *step, struct workflow *workflow, struct job *job);
/* When a run that was told to stop has had its time for it. */
int64_t run_patience(const struct run *run);
/* Whether an allocation is wanted by another run than this one, which shall stop. */
bool job_is_wanted(const struct run *run);
/* Cancels the job that Slurm knows. */
void job_cancel(struct step *step, struct run *run);
/* Takes a run that has not begun out of its job: cancels that, unless others want it. Then its lead
 * is told as soon as it asks. */
void job_withdraw(struct step *step, struct run *run);
void job_on_submitted(struct step *step, struct workflow *workflow, struct job *job);
void job_on_refused(struct step *step, struct workflow *workflow, struct job *job);
void job_on_limited(struct step *step, struct workflow *workflow, struct job *job);
void job_on_unsure(struct step *step, struct workflow *workflow, struct job *job);
void job_on_unknown(struct step *step, struct workflow *workflow, struct job *job);
void job_on_seen(struct step *step, struct workflow *workflow, struct job *job);
void job_on_absent(struct step *step, struct workflow *workflow, struct job *job);

/* --- rival.c: several jobs for one run -------------------------------------------------------- */

/* Whether a rival that was cancelled, or a job that came back, is still to be seen to go. */
bool rival_is_going(const struct workflow *workflow);
/* Gives a new run, whose job is the first, a rival for each other alternative of its phase. */
void rival_add(struct step *step, struct run *run, int64_t due_ms);
/* Whether it is still open which of the rivals serves the run; false too where there are none. */
bool rival_is_open(const struct run *run, const struct job *job);
/* Whether the run has no use for this rival. */
bool rival_is_vain(const struct run *run, const struct job *job);
/* A rival is out of it: it ended, was refused, or is not submitted any more. False: it was the last
 * that the run could hope for, and is its job now. */
bool rival_drop(struct step *step, struct run *run, struct job *job);
/* The run's lead has reported: from the job with this token, or this id where that is not known. */
void rival_decide(struct run *run, const char *token, uint32_t slurm_id);
/* Forgets a rival that does not exist in Slurm, if it is in vain; with the last one the run ends.
 */
bool rival_gives_up(struct step *step, struct run *run, struct job *job);
/* The run's folder has no word of it: rivals that Slurm does not know are submitted. False: nothing
 * can come of any of them any more. */
bool rival_goes_on(struct step *step, struct run *run);
/* Slurm will never start this rival. */
void rival_withdraw(struct step *step, struct run *run, struct job *job);
/* Cancels and forgets what is in vain, after every event. */
void rival_settle(struct step *step, struct workflow *workflow);

/* --- step.c: effects, facts, and the only places that assign a state -------------------------- */

struct core_effect *step_add(struct step *step, enum core_effect_kind kind,
                             struct workflow *workflow);
void step_save_workflow(struct step *step, struct workflow *workflow);
void step_save_phase(struct step *step, struct phase *phase);
void step_save_run(struct step *step, struct run *run);
void step_save_job(struct step *step, struct run *run, struct job *job);
/* Effects on a run and its job; `done` takes them out of the outbox again. */
struct core_effect *step_do(struct step *step, enum core_effect_kind kind, struct run *run);
void step_done(struct step *step, enum core_effect_kind kind, struct run *run);
/* The same on a job that may not be the run's own. */
struct core_effect *step_do_job(struct step *step, enum core_effect_kind kind, struct run *run,
                                struct job *job);
void step_done_job(struct step *step, enum core_effect_kind kind, struct run *run, struct job *job);

/* Asks for FX_SUBMIT or FX_LOOKUP of the job, not before `due_ms`. */
void job_ask(struct step *step, enum core_effect_kind kind, struct run *run, struct job *job,
             int64_t due_ms);
/* The ids of what is new. */
uint64_t step_next_run(struct step *step);
uint64_t step_next_job(struct step *step, char ret_token[TOKEN_LENGTH + 1]);

/* Tells whoever listens to it. `who` is borrowed from the event. */
void step_tell(struct step *step, enum fact_kind kind, struct run *run, struct job *job);
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
