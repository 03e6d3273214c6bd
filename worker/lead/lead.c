/* The main loop of the lead. It takes Slurm's signals, the reports of the agents, the commands of
 * the daemon and the timers. */
#include "worker/lead/lead.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "worker/lead/inquiry.h"
#include "worker/lead/job_folder.h"
#include "worker/lead/lead_state.h"
#include "worker/process/job_steps.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/orphan.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum {
    LEAD_LIMIT_END_S = 10, /* from the end of a save to the limit, for what follows it */
    LEAD_LIMIT_ASK_MAX = 5,
    LEAD_SAME_MS = 1500, /* signals this close together have one cause */
};

/* The batch script gets SIGTERM when Slurm kills the job: at once for a cancelled job, at the end
 * of the grace for a preempted job, and at the time limit. If the run is being stopped already, its
 * processes have had their time, and Slurm sends SIGKILL to all soon. At the time limit, however,
 * Slurm waits for KillWait first, and the processes may use this time. */
static void lead_term_done(uv_signal_t *handle, int number)
{
    struct lead *lead = handle->data;
    bool is_known = lead->state == LEAD_RUNNING && (lead->run->is_decided || lead->is_asking);
    lead->was_interrupted = true; /* also if the signal changes nothing */
    if (!is_known) {
        lead_note_signal(lead,
                         number == SIGINT ? "SIGINT was sent to the batch script"
                                          : "SIGTERM was sent to the batch script",
                         false);
        lead->handle(lead, LEAD_TERM);
    } else if (clock_steady_ms() - lead->interrupted_ms <= LEAD_SAME_MS || lead->is_killing) {
        return;
    } else if (lead->limit == LEAD_LIMIT_DUE) {
        lead->interrupted_ms = clock_steady_ms();
        lead_end_before_kill(lead);
    } else {
        lead_ladder_done(&lead->timer);
    }
}

static void lead_limit_due(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    lead->limit = LEAD_LIMIT_DUE;
    lead->handle(lead, LEAD_LIMIT);
}

/* The seconds until the ranks must stop. A checkpoint needs the time to save. The job needs some
 * more, to be requeued. */
static double lead_left_s(const struct lead *lead)
{
    const struct assignment *assignment = lead->run->assignment;
    int saving_s = assignment->checkpoint_path ? assignment->save_time_s : 0;
    return lead->end_time - clock_calendar_s() - LEAD_LIMIT_END_S - saving_s;
}

/* Somebody may have changed the limit since the job began. If Slurm does not answer, the lead asks
 * again, up to LEAD_LIMIT_ASK_MAX times. Then nobody knows how much time is left, and the run stops
 * at once. */
static void lead_limit_told(void *context, const struct inquiry_answer *answer)
{
    struct lead *lead = context;
    bool is_told = answer->end_time > 0 && answer->state == CLUSTER_JOB_RUNNING;
    if (!lead->run || lead->run->is_ended)
        return;
    if (is_told)
        lead->end_time = answer->end_time;
    double left_s = lead_left_s(lead);
    if (answer->state == CLUSTER_JOB_NONE && ++lead->limit_asked < LEAD_LIMIT_ASK_MAX &&
        left_s > LEAD_LIMIT_END_S) {
        inquiry_start(&lead->loop, lead->life.job_id, false, lead_limit_told, lead);
        return;
    }
    if (!is_told)
        fprintf(stderr, "phase-worker lead: Slurm does not say when the time limit is, so the run "
                        "stops now\n");
    bool waits = is_told && left_s > 0 && lead_may_be_at_limit(lead);
    uv_timer_start(&lead->limit_timer, lead_limit_due, waits ? (uint64_t)(left_s * 1000) : 0, 0);
}

/* The job was submitted with --signal=B:USR2. Slurm sends the signal up to a minute earlier than it
 * was asked to, and the run need not stop yet. */
void lead_time_out(struct lead *lead)
{
    if (lead->run->is_decided || lead->is_asking) {
        if (lead->limit == LEAD_LIMIT_FAR)
            lead->limit = LEAD_LIMIT_NEAR; /* the run ends, and no other run begins */
        return;
    }
    if (!lead_may_be_at_limit(lead)) {
        /* Slurm signals only the batch script. */
        lead_stop(lead, (unsigned)lead->run->assignment->save_time_s);
        lead->handle(lead, LEAD_TERM);
    } else if (lead->limit == LEAD_LIMIT_FAR) {
        lead->limit = LEAD_LIMIT_NEAR;
        inquiry_start(&lead->loop, lead->life.job_id, false, lead_limit_told, lead);
    } else if (lead->limit == LEAD_LIMIT_DUE) {
        (void)lead_run_stop(lead->run, STOP_TIMED_OUT, "the time limit of the job is near");
        lead->interrupted_ms = clock_steady_ms();
        lead_stop(lead, lead_run_stop_seconds(lead->run));
    }
}

static void lead_limit_done(uv_signal_t *handle, int number)
{
    struct lead *lead = handle->data;
    (void)number;
    lead_note_signal(lead, "SIGUSR2 was sent to the batch script", true);
    lead->handle(lead, LEAD_LIMIT);
}

/* The host requeues the job, so the run stops even if it would have more time. */
static void lead_yield_done(uv_signal_t *handle, int number)
{
    struct lead *lead = handle->data;
    (void)number;
    lead->limit = LEAD_LIMIT_DUE;
    lead_note_signal(lead, "another phase in the job needs its requeue", false);
    lead->handle(lead, LEAD_LIMIT);
}

static void lead_step_ended(void *context, int code, int number)
{
    struct lead *lead = context;
    const char *complaint = job_step_complaint(lead->job_step);
    if (complaint[0])
        (void)snprintf(lead->complaint, sizeof lead->complaint, "%s", complaint); /* may be cut */
    else if (!lead->complaint[0])
        (void)snprintf(lead->complaint, sizeof lead->complaint, "srun %s %d",
                       number ? "was killed by signal" : "exited with code",
                       number ? number : code); /* fits */
    job_step_close(lead->job_step);
    lead->job_step = NULL;
    lead->handle(lead, LEAD_JOB_STEP_ENDED);
}

/* --- The table -------------------------------------------------------------------------------- */

void lead_ignore(struct lead *lead)
{
    (void)lead;
}

void lead_pass_term(struct lead *lead)
{
    requeue_handle(&lead->requeue, REQUEUE_TERM);
}

/* A row has the actions while launching, running, lingering and leaving. */
static lead_action *const lead_actions[LEAD_EVENTS][LEAD_STATES] = {
    [LEAD_READY] = {lead_begin, lead_ignore, lead_ignore, lead_ignore},
    [LEAD_TERM] = {lead_interrupt, lead_interrupt, lead_leave, lead_pass_term},
    [LEAD_LIMIT] = {lead_time_out, lead_time_out, lead_leave, lead_ignore},
    [LEAD_JOB_STEP_ENDED] = {lead_lose_job_step, lead_lose_job_step, lead_leave,
                             lead_leave_stepless},
    [LEAD_NEXT] = {lead_next, lead_over, lead_next, lead_ignore},
    [LEAD_STOP] = {lead_cancel, lead_cancel, lead_leave, lead_ignore},
    [LEAD_END] = {lead_over, lead_over, lead_leave, lead_ignore},
    [LEAD_BEGUN] = {lead_wait, lead_ignore, lead_ignore, lead_ignore},
};

lead_action *lead_answer(enum lead_state state, enum lead_event event)
{
    return lead_actions[event][state];
}

static void lead_handle(struct lead *lead, enum lead_event event)
{
    if (event == LEAD_TERM)
        lead->was_interrupted = true;
    lead_answer(lead->state, event)(lead);
}

/* --- Start ------------------------------------------------------------------------------------ */

static void lead_limit_known(void *context, const struct inquiry_answer *answer)
{
    struct lead *lead = context;
    if (answer->end_time > 0)
        lead->end_time = answer->end_time;
}

static int64_t lead_number(const char *name)
{
    const char *value = getenv(name);
    return value ? strtoll(value, NULL, 10) : 0;
}

/* A job that has a whole node also has its GPUs. If the job has not asked for GPUs, Slurm gives
 * them to the batch script, but to a job step only if the job step asks. With several nodes nobody
 * asks: a node may have fewer GPUs than the first node, and then the job step could not start. If
 * the job has asked for another gres, a job step that asks for GPUs would not get that gres. */
static unsigned lead_gpus_unasked(const struct lead *lead)
{
    const struct assignment *assignment = lead->run->assignment;
    const json_t *slurm = json_object_get(assignment->spec, "slurm");
    bool has_asked = lead->is_guest || assignment->gpus || json_object_get(slurm, "gres");
    return has_asked || lead->count > 1 ? 0 : (unsigned)lead_number("SLURM_GPUS_ON_NODE");
}

static void lead_start_step(struct lead *lead)
{
    const struct job_step_options options = {
        .loop = &lead->loop,
        .program = lead->program,
        .job_dir = lead->job_dir,
        .nodes = lead->count,
        .gpus = lead_gpus_unasked(lead),
        .reported = lead_reported,
        .lost = lead_lost,
        .ended = lead_step_ended,
        .context = lead,
    };
    struct error err;
    bool is_over = lead->run->is_ended, is_hopeless = lead->run->is_decided && !is_over;
    /* The agents start while the daemon is asked for the next run. */
    if (is_hopeless || job_step_start(&options, &lead->job_step, &err) < 0) {
        (void)lead_run_decide(lead->run, OUTCOME_FAILED, CAUSE_LAUNCH, "%s", err.message);
        lead_conclude(lead);
        if (is_over)
            lead_leave(lead);
        return;
    }
    if (is_over)
        lead_wait(lead);
    else
        lead_set_timer(lead, lead_launch_done, LEAD_LAUNCH_MS);
}

static void lead_init(struct lead *lead, const char *job_dir)
{
    int64_t count = lead_number("SLURM_JOB_NUM_NODES");
    lead->job_dir = job_dir;
    lead->handle = lead_handle;
    lead->program = place_self();
    lead->orphan = orphan_name_file(job_dir);
    lead->life = phase_life_own();
    lead->end_time = (double)lead_number("SLURM_JOB_END_TIME");
    lead->count = count > 0 ? (unsigned)count : 1;
    lead->agents = xcalloc(lead->count, sizeof *lead->agents);
    lead->paces = xcalloc(lead->count, sizeof *lead->paces);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    if (!lead->is_guest) /* people send it to a batch script whose program saves at this signal */
        (void)signal(SIGUSR1, SIG_IGN);
    uv_loop_init(&lead->loop);
    uv_signal_init(&lead->loop, &lead->term);
    uv_signal_init(&lead->loop, &lead->interrupt);
    uv_signal_init(&lead->loop, &lead->limit_signal);
    uv_signal_init(&lead->loop, &lead->yield);
    uv_timer_init(&lead->loop, &lead->timer);
    uv_timer_init(&lead->loop, &lead->later);
    uv_timer_init(&lead->loop, &lead->look);
    uv_timer_init(&lead->loop, &lead->limit_timer);
    uv_timer_init(&lead->loop, &lead->hang.timer);
    uv_timer_init(&lead->loop, &lead->claim.timer);
    lead->term.data = lead->interrupt.data = lead->limit_signal.data = lead->yield.data = lead;
    lead->timer.data = lead->later.data = lead->look.data = lead;
    lead->limit_timer.data = lead->hang.timer.data = lead->claim.timer.data = lead;
    requeue_init(&lead->requeue, &lead->loop, "lead", lead->life.job_id, lead_requeue_over, lead);
    uv_signal_start(&lead->term, lead_term_done, SIGTERM);
    uv_signal_start(&lead->interrupt, lead_term_done, SIGINT);
    uv_signal_start(&lead->limit_signal, lead_limit_done, SIGUSR2);
    if (lead->is_guest)
        uv_signal_start(&lead->yield, lead_yield_done, SIGUSR1);
    uv_timer_start(&lead->look, lead_look, LEAD_LOOK_MS, LEAD_LOOK_MS);
    commands_init(&lead->commands, &lead->loop, lead_obey, lead);
}

static void lead_fini(struct lead *lead)
{
    int status = uv_loop_close(&lead->loop);
    assert(status == 0);
    (void)status; /* all handles are closed */
    for (unsigned i = 0; i < lead->count; i++) {
        free(lead->agents[i].node);
        free(lead->agents[i].summary);
        json_decref(lead->agents[i].counts);
        json_decref(lead->agents[i].ras);
    }
    free(lead->agents);
    free(lead->paces);
    lead_checks_forget(lead);
    free(lead->program);
    free(lead->orphan);
    free(lead->next_dir);
}

/* Opens the run that the job serves first. The run may be over, if an earlier lead of this job has
 * served it. -EBUSY: the run belongs to another job. -ECANCELED: the daemon has declared the run
 * over. */
static int lead_open_first(struct lead *lead, struct error *err)
{
    char *run_dir = NULL;
    int status = job_folder_claim(lead->job_dir, &lead->life, err);
    if (status == -EBUSY)
        return status;
    if (status < 0)
        fprintf(stderr, "phase-worker lead: %s\n", err->message); /* the run is more important */
    status = job_folder_read_current(lead->job_dir, &run_dir, err);
    if (status == 0 && outcome_is_sealed(run_dir, err))
        status = -ECANCELED;
    if (status == 0)
        status = lead_run_open(run_dir, &lead->commands, &lead->run, err);
    free(run_dir);
    if (status == 0 && lead->run->assignment->file.is_alone)
        lead_open_known(lead);
    return status;
}

int lead_main(const char *job_dir, bool is_guest)
{
    struct lead lead = {.is_guest = is_guest};
    struct error err;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* people read job.log while it grows */
    /* If the host is killed, a guest would take the end of the job for a cancellation. So the guest
     * dies with the host, like the lead of any killed job: its run is lost, and another run
     * follows. */
    if (is_guest)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
    if (is_guest)
        (void)setenv(JOB_STEPS_SHARED_VARIABLE, "1", 1); /* the agents inherit it */
    lead_init(&lead, job_dir);
    int status = lead_open_first(&lead, &err);
    if (status < 0) {
        fprintf(stderr, "phase-worker lead: %s\n", err.message);
        lead.exit_code = status != -EBUSY && status != -ECANCELED;
        lead_close(&lead);
    } else {
        if (lead.end_time == 0)
            inquiry_start(&lead.loop, lead.life.job_id, false, lead_limit_known, &lead);
        lead_start_step(&lead);
    }
    uv_run(&lead.loop, UV_RUN_DEFAULT);
    lead_fini(&lead);
    return lead.exit_code;
}
