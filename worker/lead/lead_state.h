/* The state that the parts of the lead share. Only lead*.c and the test of the table include this
 * file.
 *
 *   lead.c         the loop, signals, the job step
 *   lead_next.c    which run comes next: the daemon's commands, and runs made alone
 *   lead_agents.c  the start of a run, and the reports of the agents
 *   lead_claim.c   whether a run may begin, or another lead runs its phase
 *   lead_checks.c  the combined result of the preflights on all nodes
 *   lead_hang.c    whether a run hangs
 *   lead_stop.c    how a run is stopped and concluded
 *   lead_leave.c   the end: the last entries, the agents, Slurm's requeue
 *   lead_timer.c   the timer of the state, for a job that may be suspended
 *
 * A file calls only files below it in this list. Facts go upwards: as events, by the callbacks of
 * timers and of the job step, and by `again` of the claim. The table in lead.c says what each event
 * does in each state. */
#ifndef PHASED_WORKER_LEAD_LEAD_STATE_H
#define PHASED_WORKER_LEAD_LEAD_STATE_H

#include "worker/health/pace.h"
#include "worker/lead/commands.h"
#include "worker/lead/fitness.h"
#include "worker/lead/job_step.h"
#include "worker/lead/lead_run.h"
#include "worker/lead/requeue.h"
#include "worker/protocol/phase_claim.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct lead;

enum {
    LEAD_LAUNCH_MS = 120000, /* until all agents must be ready; srun itself gives up earlier */
    LEAD_LOOK_MS = 5000,     /* between two looks whether an agent has lost srun */
};

enum lead_state {
    LEAD_LAUNCHING, /* a run begins when all agents are ready */
    LEAD_RUNNING,
    LEAD_LINGERING, /* no run is served; the daemon may give one, or its folder is awaited */
    LEAD_LEAVING,
    LEAD_STATES,
};

enum lead_event {
    LEAD_READY, /* all agents are ready */
    LEAD_TERM,  /* Slurm signals the job or its job step, for an unknown reason */
    LEAD_LIMIT, /* SIGUSR2: the time limit is near */
    LEAD_JOB_STEP_ENDED,
    LEAD_NEXT,  /* the daemon gives another run */
    LEAD_STOP,  /* the daemon stops the run */
    LEAD_END,   /* the daemon has no other run */
    LEAD_BEGUN, /* an earlier lead proves to have begun the run */
    LEAD_EVENTS,
};

struct lead_agent {
    char *node; /* NULL until it is ready */
    bool is_checked, is_gone, is_ended;
    bool is_examined; /* has answered the last question whether the run hangs */
    bool was_warned;  /* in this run: the agent is silent while others are not */
    double silent_s;
    char *summary;  /* of the processes' states, or NULL */
    json_t *counts; /* what the processes do (outlier.h), or NULL */
    json_t *ras;    /* what NCCL's RAS names (ras_status.h), or NULL */
};

/* The question to all agents whether the run hangs. */
struct lead_hang {
    bool is_asked;
    double limit_s; /* the allowed silence, from the agent that reported it */
    uv_timer_t timer;
};

/* The claim on the phase of the run that is to begin. */
struct lead_claim {
    bool is_asking;             /* asking Slurm about the job that has the phase */
    struct phase_passed passed; /* claims that this lead need not wait for */
    struct phase_holder holder; /* the job that has the phase */
    int64_t since_ms;           /* when this lead first saw the holder */
    unsigned ending;            /* a claim that has ended, but whose processes may still run */
    int64_t ending_ms;          /* when this lead first saw that claim */
    unsigned gone;              /* the same claim, after Slurm has ended its job */
    void (*again)(struct lead *lead);
    uv_timer_t timer; /* until the next try */
};

struct lead {
    uv_loop_t loop;
    const char *job_dir;
    char *program;
    struct phase_life life; /* this life of the job */
    enum lead_state state;
    void (*handle)(struct lead *lead, enum lead_event event);
    char *next_dir;            /* of the last LEAD_NEXT: the folder of the run */
    int64_t next_by_ms;        /* until then, this folder may become visible */
    enum stop_reason stop_why; /* of LEAD_STOP */
    struct lead_run *run;
    struct lead_run *known; /* while `run` is alone: the last run with a number, for its channel */
    unsigned start_number;  /* counts the runs that the agents were told to start */
    struct job_step *job_step; /* NULL after its end */
    struct lead_agent *agents;
    struct pace_node *paces; /* one for each agent, in this run */
    unsigned count, ready;
    bool is_checking; /* the ranks wait for the preflights of all nodes */
    struct fitness fitness;
    double end_time; /* the time limit of the job; 0: unknown */
    struct commands commands;
    /* NEAR: SIGUSR2 has come, and no other run begins in this life. DUE: the ranks must stop. */
    enum { LEAD_LIMIT_FAR, LEAD_LIMIT_NEAR, LEAD_LIMIT_DUE } limit;
    uv_signal_t term, interrupt, limit_signal;
    uv_signal_t yield; /* SIGUSR1 from the host: another lead of the job wants the requeue */
    uv_timer_t timer;  /* of the state: launching, stopping, lingering, leaving */
    uv_timer_cb due;   /* what lead_set_timer() has set, and when that is due */
    uint64_t due_after_ms;
    int64_t due_ms;
    uv_timer_t later;       /* to look again for the number of a run */
    uv_timer_t limit_timer; /* until the limit is due */
    uv_timer_t look;        /* to look whether an agent has lost srun */
    char *orphan;           /* the file in which the agent says so (worker/protocol/orphan.h) */
    struct lead_hang hang;
    struct lead_claim claim;
    int64_t interrupted_ms;       /* when a stop from outside began */
    bool is_killing;              /* the agents were told to kill the ranks */
    bool is_joining;              /* the agents were told to join; the first node does */
    int64_t waiting_ms, heard_ms; /* when waiting began, and when the daemon last answered */
    int64_t tick_ms;              /* the next look while the lead waits */
    int64_t write_by_ms;          /* the deadline for writing the outcome */
    struct requeue requeue;
    char complaint[256];  /* the last message of srun */
    const char *signal;   /* the last signal that may stop the run, for people; or NULL */
    bool is_warned;       /* that signal is SIGUSR2, which comes long before the time limit */
    bool is_asking;       /* asking Slurm for the reason of a stop */
    unsigned unanswered;  /* questions to Slurm without an answer */
    unsigned limit_asked; /* questions about the time limit without an answer */
    bool awaits_next;     /* the folder of the next run is not visible yet */
    bool is_guest;        /* the job is shared with other leads */
    bool was_interrupted; /* by Slurm, in this allocation */
    bool is_final;        /* the job need not run again */
    bool is_exposed;      /* Slurm's signals reach all processes of the job step, the ranks too */
    int exit_code;        /* of the lead */
};

typedef void lead_action(struct lead *lead);

/* lead.c: what the event does in the state. lead->handle() uses it. */
lead_action *lead_answer(enum lead_state state, enum lead_event event);
void lead_ignore(struct lead *lead);
/* The time limit of the job is near: stops the run, as late as possible. */
void lead_time_out(struct lead *lead);
/* SIGTERM came while the lead leaves. Only the requeue reacts. */
void lead_pass_term(struct lead *lead);

/* lead_stop.c: concludes the run. While Slurm is asked for the reason of a stop, this waits for the
 * answer. */
void lead_conclude(struct lead *lead);
bool lead_all_ended(const struct lead *lead);
/* Tells the agents to stop the ranks. */
void lead_stop(struct lead *lead, unsigned seconds);
/* A uv_timer_cb: the agents were told to stop or to kill, and have not finished in time. Tells them
 * to kill the ranks; the second time, kills srun. */
void lead_ladder_done(uv_timer_t *timer);
/* An agent has ended badly. If srun does not end the other agents in time, srun is killed. */
void lead_lost(void *context);
/* A uv_timer_cb: looks whether an agent has lost srun. Then kills srun, which may not notice. */
void lead_look(uv_timer_t *timer);
/* False: SIGUSR2 does not come from the time limit. Some sites send the same signal when they
 * preempt. */
bool lead_may_be_at_limit(const struct lead *lead);
/* Notes the signal that is handled next, for people, and whether the time limit may be its reason.
 * While Slurm is asked about a signal, that signal stays. */
void lead_note_signal(struct lead *lead, const char *signal, bool is_warning);
/* Slurm stops the run. Stops the ranks, and asks Slurm for the reason. */
void lead_interrupt(struct lead *lead);
/* Slurm kills the job KillWait after the SIGTERM that came just now. Lets the ranks use most of
 * this time. Kills them before its end, so that the lead can say how the run ended. */
void lead_end_before_kill(struct lead *lead);
/* The job step has ended, and its end also ends the run. */
void lead_lose_job_step(struct lead *lead);
/* A uv_timer_cb: the run has not begun in time. */
void lead_launch_done(uv_timer_t *timer);

/* lead_claim.c: whether the run may begin now. If not, the run is concluded, or `again` is called
 * when it is time for another try. */
bool lead_claim(struct lead *lead, void (*again)(struct lead *lead));

/* lead_checks.c: begins to wait for the preflights, after the agents were told to start a run. */
void lead_checks_begin(struct lead *lead);
/* Takes the verdict of a node. */
void lead_checks_add(struct lead *lead, struct lead_agent *agent, const struct report *report);
/* Stops waiting, because the run or the lead ends. */
void lead_checks_forget(struct lead *lead);

/* lead_agents.c: begins the open run. All agents are ready. */
void lead_begin(struct lead *lead);
/* A job_step_options.reported. */
void lead_reported(void *context, const struct report *report);

/* lead_hang.c: an agent reports that it was silent for too long. */
void lead_hang_silent(struct lead *lead, struct lead_agent *agent, const struct report *report);
void lead_hang_examined(struct lead *lead, struct lead_agent *agent, const struct report *report);
/* Decides if all agents that still have ranks have answered, or if `is_late`. */
void lead_hang_judge(struct lead *lead, bool is_late);

/* lead_next.c: waits for the next run, because the first run of this lead was over already. */
void lead_wait(struct lead *lead);
/* Opens the channel of the last run with a number, because `run` is alone. */
void lead_open_known(struct lead *lead);
/* A command_found: raises an event. */
void lead_obey(void *context, const json_t *json);
/* Serves the run in `next_dir` as soon as its folder is visible; gives up after a minute. */
void lead_next(struct lead *lead);
/* The daemon cancels the run: `stop_why`. */
void lead_cancel(struct lead *lead);
/* The daemon knows that the run is over: the run does not begin, or stops. */
void lead_over(struct lead *lead);

/* lead_leave.c: leaves, because no run follows. */
void lead_leave(struct lead *lead);
/* The job step has ended while the lead was leaving. */
void lead_leave_stepless(struct lead *lead);
/* The requeue is over, so the lead ends. `context` is the lead. */
void lead_requeue_over(void *context);
/* Closes all handles, so that the loop ends. */
void lead_close(struct lead *lead);

/* lead_timer.c: starts the timer of the state. If it was due while the job was suspended, it gets
 * its time once more. */
void lead_set_timer(struct lead *lead, uv_timer_cb due, uint64_t after_ms);
/* Whether the job was suspended when this time came. */
bool lead_is_late(int64_t due_ms);

#endif
