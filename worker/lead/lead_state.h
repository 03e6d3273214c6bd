/* What the parts of the lead share; of lead*.c alone.
 *
 *   lead.c         the loop, signals, the step
 *   lead_next.c    which run comes next: the daemon's commands, and alone
 *   lead_agents.c  the beginning of a run, and what the agents report
 *   lead_claim.c   whether a run may begin, or another lead runs its phase
 *   lead_checks.c  what the preflights of all nodes say together
 *   lead_hang.c    whether a run hangs
 *   lead_stop.c    how a run is stopped and concluded
 *   lead_leave.c   the end: the last entries, the agents, Slurm's requeue
 *
 * A file calls those below it in this list, never one above. Facts go upwards by callbacks: the
 * loop's timers, the step's reports, `again` of the claim.
 */
#ifndef PHASED_WORKER_LEAD_LEAD_STATE_H
#define PHASED_WORKER_LEAD_LEAD_STATE_H

#include "worker/lead/commands.h"
#include "worker/lead/fitness.h"
#include "worker/lead/lead_run.h"
#include "worker/protocol/phase_claim.h"
#include "worker/health/pace.h"
#include "worker/lead/step.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct lead;

enum {
    LEAD_LAUNCH_MS = 120000, /* for all agents to be there; srun gives up earlier by itself */
};

enum lead_state {
    LEAD_LAUNCHING, /* a run is to begin when all agents are there */
    LEAD_RUNNING,
    LEAD_LINGERING, /* the run has ended; the daemon may give another */
    LEAD_LEAVING,
};

enum lead_requeue {
    LEAD_REQUEUE_NO,
    LEAD_REQUEUE_WANTED,
    LEAD_REQUEUE_ASKED,
    LEAD_REQUEUE_ENDING,   /* and the job is being killed */
    LEAD_REQUEUE_ACCEPTED, /* Slurm is about to kill the job */
};

struct lead_agent {
    char *node; /* NULL until it is ready */
    bool is_checked, is_gone, is_ended;
    bool is_examined; /* has answered since the lead last asked whether the run hangs */
    bool was_warned;  /* that it is silent while others go on, in this run */
    double silent_s;
    char *summary;  /* of what it found, or NULL */
    json_t *counts; /* of what its processes do (odd.h), or NULL */
};

/* A question to all agents, whether the run hangs. */
struct lead_hang {
    bool is_asked;
    double limit_s; /* how long a silence is allowed, as the node has it that tells of one */
    uv_timer_t timer;
};

/* The claim on the phase of the run that is to begin. */
struct lead_claim {
    bool is_asking;             /* Slurm, of the job that stands in the way */
    struct phase_passed passed; /* the claims that it need not wait for */
    struct phase_holder holder; /* whose job that is */
    int64_t since_ms;           /* when it was found in the way */
    unsigned ending;            /* one that is over; what it runs may be left */
    int64_t ending_ms;          /* when that was found */
    void (*again)(struct lead *lead);
    uv_timer_t timer; /* to try again */
};

struct lead {
    uv_loop_t loop;
    const char *job_dir;
    char *program;
    struct phase_life life; /* of the job that it is in */
    enum lead_state state;
    struct lead_run *run;
    struct lead_run *known; /* while `run` is alone: the last one with a number, for its channel */
    unsigned turn;          /* how many runs the agents were told to start */
    struct step *step;      /* NULL once it has ended */
    struct lead_agent *agents;
    struct pace_node *paces; /* of the agents' nodes, in this run */
    unsigned count, ready;
    bool is_checking; /* the ranks wait for the preflights of all nodes */
    struct fitness fitness;
    double end_time; /* the limit of the job's time; 0: not known */
    struct commands commands;
    uv_signal_t term, interrupt, limit;
    uv_timer_t timer; /* of the state: launching, the ladder, lingering, leaving */
    uv_timer_t later; /* to look again for the number of a run */
    struct lead_hang hang;
    struct lead_claim claim;
    int64_t interrupted_ms;       /* when a stop from outside began */
    bool is_killing;              /* the ladder's last rung */
    bool is_joining;              /* the first node was told to */
    int64_t waiting_ms, heard_ms; /* since when, and when the daemon was last there */
    int64_t write_by_ms;          /* until when to try to write the outcome */
    enum lead_requeue requeue;
    char complaint[256];  /* srun's last words */
    bool is_asking;       /* Slurm, why the run is being ended */
    unsigned unanswered;  /* tries */
    bool is_guest;        /* others share the job */
    bool was_interrupted; /* by Slurm, in this allocation */
    bool is_final;        /* nobody wants the job again */
    bool is_exposed;      /* Slurm's signals reach all processes of the step, the ranks too */
    int status;           /* to exit with */
};

/* lead_stop.c */

/* The run is over when Slurm has said why it was stopped. */
void lead_conclude(struct lead *lead);
bool lead_all_ended(const struct lead *lead);
/* Stops what runs. */
void lead_stop(struct lead *lead, unsigned seconds);
/* A uv_timer_cb: the agents have not done in time what they were told. Kills what runs, then srun.
 */
void lead_ladder_done(uv_timer_t *timer);
/* Whether the time limit of the job is so near. */
bool lead_is_at_limit(const struct lead *lead, int margin_s);
/* Slurm signals the step or the job, and does not say why. */
void lead_interrupted(struct lead *lead);
/* Asks Slurm why the run is being ended, unless the cause is known. */
void lead_ask(struct lead *lead);
/* A uv_timer_cb: the run has not begun in time. */
void lead_launch_done(uv_timer_t *timer);

/* lead_claim.c: whether the run may begin now. If not, it is concluded, or `again` is called when
 * it is time to try once more. */
bool lead_claim(struct lead *lead, void (*again)(struct lead *lead));

/* lead_checks.c: the agents were told to start a run. */
void lead_checks_begin(struct lead *lead);
/* A node has told. */
void lead_checks_add(struct lead *lead, struct lead_agent *agent, const json_t *report);
/* The run is over, or the lead. */
void lead_checks_forget(struct lead *lead);

/* lead_agents.c: all agents are there, and a run is open. */
void lead_begin(struct lead *lead);
/* A step_options.reported. */
void lead_reported(void *context, const json_t *report);

/* lead_hang.c */

void lead_hang_silent(struct lead *lead, struct lead_agent *agent, const json_t *report);
void lead_hang_examined(struct lead *lead, struct lead_agent *agent, const json_t *report);
/* An agent's ranks are gone: it is not asked any more. */
void lead_hang_gone(struct lead *lead);

/* lead_next.c: the lead has found its run over, and waits for the next one. */
void lead_wait(struct lead *lead);
/* `run` is alone: opens the channel of the one before it that the daemon knows. */
void lead_open_known(struct lead *lead);
/* A command_found. */
void lead_command(void *context, const json_t *command);

/* lead_leave.c: no more runs. */
void lead_leave(struct lead *lead);
/* While leaving, the step has ended. */
void lead_leave_stepless(struct lead *lead);
/* While leaving, SIGTERM came. */
void lead_leave_terminated(struct lead *lead);
/* Closes all handles: the loop ends. */
void lead_close(struct lead *lead);

#endif
