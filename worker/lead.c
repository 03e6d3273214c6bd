/* The lead: one loop that hears Slurm's signals, the agents, the daemon and the clock. */
#include "worker/lead.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/assignment.h"
#include "worker/clock.h"
#include "worker/commands.h"
#include "worker/inquiry.h"
#include "worker/lead_run.h"
#include "worker/step.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
    LEAD_LAUNCH_MS = 120000,   /* for all agents to be there; srun gives up earlier by itself */
    LEAD_LADDER_MS = 15000,    /* for agents to have done what a stop or a kill demands */
    LEAD_LEAVE_MS = 5000,      /* for the agents to end when told */
    LEAD_DRAIN_MS = 2000,      /* for the daemon to take the last entries */
    LEAD_TERM_MARGIN_S = 30,   /* SIGTERM so near the limit is the limit's */
    LEAD_LIMIT_MARGIN_S = 120, /* and SIGUSR2, besides the time for saving */
    LEAD_ASK_MAX = 2,
    LEAD_CURRENT_MAX = 65536,
};

enum lead_state {
    LEAD_LAUNCHING, /* not all agents are there */
    LEAD_RUNNING,
    LEAD_LINGERING, /* the run has ended; the daemon may give another */
    LEAD_LEAVING,
};

struct lead_agent {
    char *node; /* NULL until it is ready */
    bool is_gone, is_ended;
};

struct lead {
    uv_loop_t loop;
    const char *job_dir;
    char *program;
    int64_t job_id;
    enum lead_state state;
    struct lead_run *run;
    struct step *step; /* NULL once it has ended */
    struct lead_agent *agents;
    unsigned count, ready;
    double end_time; /* the limit of the job's time; 0: not known */
    struct commands commands;
    uv_signal_t term, interrupt, limit;
    uv_timer_t timer;    /* of the state: launching, the ladder, lingering, leaving */
    bool is_killing;     /* the ladder's last rung */
    char complaint[256]; /* srun's last words */
    bool is_asking;      /* Slurm, why the run is being ended */
    unsigned unanswered; /* tries */
    bool has_failed;     /* the exit status */
};

/* --- Leaving --------------------------------------------------------------------------------- */

static void lead_close(struct lead *lead)
{
    step_close(lead->step);
    lead->step = NULL;
    commands_close(&lead->commands);
    uv_close((uv_handle_t *)&lead->term, NULL);
    uv_close((uv_handle_t *)&lead->interrupt, NULL);
    uv_close((uv_handle_t *)&lead->limit, NULL);
    uv_close((uv_handle_t *)&lead->timer, NULL);
}

static void lead_leave_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (lead->step)
        step_kill(lead->step);
}

static void lead_leave(struct lead *lead)
{
    if (lead->state == LEAD_LEAVING)
        return;
    lead->state = LEAD_LEAVING;
    lead->has_failed = lead->run->outcome.kind != OUTCOME_SUCCEEDED;
    uv_timer_stop(&lead->timer);
    if (lead->step) {
        step_send(lead->step, "end");
        uv_timer_start(&lead->timer, lead_leave_done, LEAD_LEAVE_MS, 0);
    }
    lead_run_write(lead->run);
    lead_run_close(lead->run, LEAD_DRAIN_MS);
    lead->run = NULL;
    if (!lead->step)
        lead_close(lead);
}

static void lead_linger_done(uv_timer_t *timer)
{
    lead_leave(timer->data);
}

/* --- The end of a run ------------------------------------------------------------------------ */

static void lead_conclude(struct lead *lead)
{
    struct lead_run *run = lead->run;
    if (lead->is_asking || run->is_ended)
        return; /* Slurm's answer, or its absence, comes within seconds */
    uv_timer_stop(&lead->timer);
    for (unsigned i = 0; i < lead->count; i++)
        if (lead->agents[i].node && !lead->agents[i].is_ended)
            lead_run_add_lost(run, lead->agents[i].node);
    lead_run_end(run);
    lead->state = LEAD_LINGERING;
    /* After a stop from outside nothing follows in this allocation. */
    enum outcome_kind kind = run->outcome.kind;
    bool goes_on = lead->step && (kind == OUTCOME_SUCCEEDED || kind == OUTCOME_FAILED);
    if (goes_on && run->assignment->linger_s > 0)
        uv_timer_start(&lead->timer, lead_linger_done, (uint64_t)run->assignment->linger_s * 1000,
                       0);
    else
        lead_leave(lead);
}

static bool lead_all_ended(const struct lead *lead)
{
    unsigned ended = 0;
    for (unsigned i = 0; i < lead->count; i++)
        ended += lead->agents[i].is_ended;
    return ended == lead->count;
}

/* The agents have not done in time what they were told. */
static void lead_ladder_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (!lead->step)
        return;
    if (lead->is_killing) {
        step_kill(lead->step); /* its end concludes the run */
        return;
    }
    lead->is_killing = true;
    step_send(lead->step, "kill");
    uv_timer_start(&lead->timer, lead_ladder_done, LEAD_LADDER_MS, 0);
}

/* Stops what runs. */
static void lead_stop(struct lead *lead, unsigned seconds)
{
    if (!lead->step || lead->state != LEAD_RUNNING)
        return;
    step_send(lead->step, "stop %u", seconds);
    uv_timer_start(&lead->timer, lead_ladder_done, (uint64_t)seconds * 1000 + LEAD_LADDER_MS, 0);
}

/* --- A stop from outside --------------------------------------------------------------------- */

static bool lead_is_at_limit(const struct lead *lead, int margin_s)
{
    return lead->end_time > 0 && lead->end_time - clock_calendar_s() <= margin_s;
}

static void lead_asked(void *context, const struct inquiry_answer *answer)
{
    struct lead *lead = context;
    lead->is_asking = false;
    if (!lead->run || lead->run->is_ended)
        return;
    /* The signal that the lead got a moment ago may have reached scontrol too. */
    if (!answer->state[0] && ++lead->unanswered < LEAD_ASK_MAX) {
        lead->is_asking = true;
        inquiry_start(&lead->loop, lead->job_id, lead_asked, lead);
        return;
    }
    /* Of a job that is being ended it is the time of that end. */
    if (answer->end_time > 0 && text_equal(answer->state, "RUNNING"))
        lead->end_time = answer->end_time;
    const struct lead_run_evidence evidence = {
        .answer = answer,
        .complaint = lead->step ? step_complaint(lead->step) : lead->complaint,
        .is_at_limit = lead_is_at_limit(lead, LEAD_TERM_MARGIN_S),
        .was_launching = lead->state == LEAD_LAUNCHING,
    };
    lead_run_decide_by(lead->run, &evidence);
    lead_stop(lead, (unsigned)lead->run->assignment->save_time_s); /* if it began meanwhile */
    if (!lead->step || lead_all_ended(lead))
        lead_conclude(lead);
}

static void lead_ask(struct lead *lead)
{
    if (lead->is_asking || lead->run->is_decided)
        return;
    lead->is_asking = true;
    lead->unanswered = 0;
    inquiry_start(&lead->loop, lead->job_id, lead_asked, lead);
}

/* Slurm signals the step or the job, and does not say why. The ranks stop at once, as there may be
 * little time; the cause is found meanwhile. */
static void lead_interrupted(struct lead *lead)
{
    if (lead->state == LEAD_LINGERING) {
        lead_leave(lead);
        return;
    }
    if (lead->state == LEAD_LEAVING || lead->run->is_decided || lead->is_asking)
        return;
    lead_stop(lead, (unsigned)lead->run->assignment->save_time_s);
    lead_ask(lead);
}

static void lead_term_done(uv_signal_t *handle, int number)
{
    (void)number;
    lead_interrupted(handle->data);
}

/* The job was submitted with --signal=B:USR2: its time is nearly over. Some sites send the same
 * when they preempt. */
static void lead_limit_done(uv_signal_t *handle, int number)
{
    struct lead *lead = handle->data;
    (void)number;
    if (lead->state == LEAD_LINGERING) {
        lead_leave(lead);
        return;
    }
    if (lead->state == LEAD_LEAVING)
        return;
    int margin_s = lead->run->assignment->save_time_s + LEAD_LIMIT_MARGIN_S;
    if (lead->end_time > 0 && !lead_is_at_limit(lead, margin_s)) {
        lead_interrupted(lead);
        return;
    }
    if (!lead_run_decide(lead->run, OUTCOME_TIMED_OUT, OUTCOME_CAUSE_NONE,
                         "the time limit of the job is near"))
        return;
    lead_run_tell_stop(lead->run, "timed_out");
    lead_stop(lead, lead_run_stop_seconds(lead->run));
}

/* --- Runs ------------------------------------------------------------------------------------ */

/* All agents are there, and a run is open. */
static void lead_begin(struct lead *lead)
{
    struct lead_run *run = lead->run;
    if (run->is_decided) {
        lead_conclude(lead); /* it was stopped, or could not be prepared, before it began */
        return;
    }
    json_t *nodes = json_array();
    for (unsigned i = 0; i < lead->count; i++) {
        lead->agents[i].is_gone = lead->agents[i].is_ended = false;
        if (i < run->assignment->nodes)
            json_array_append_new(nodes, json_string(lead->agents[i].node));
    }
    lead->state = LEAD_RUNNING;
    lead->is_killing = false;
    uv_timer_stop(&lead->timer);
    step_send(lead->step, "start %s", run->assignment->run_dir);
    json_t *limit = lead->end_time > 0 ? json_real(lead->end_time) : json_null();
    lead_run_tell(run, "started",
                  json_pack("{s:I, s:i, s:o, s:o}", "job_id", (json_int_t)run->outcome.job_id,
                            "restarts", (int)run->outcome.restarts, "nodes", nodes, "end_time",
                            limit));
}

/* The daemon gives another run for the same allocation. */
static void lead_next(struct lead *lead, const char *run_dir)
{
    struct lead_run *next;
    struct error err;
    commands_clear(&lead->commands);
    if (lead_run_open(run_dir, &lead->commands, &next, &err) < 0) {
        fprintf(stderr, "phase-worker lead: cannot go on with %s: %s\n", run_dir, err.message);
        lead_leave(lead);
        return;
    }
    lead_run_write(lead->run);
    /* It has all of the old run, or it would not have decided. */
    lead_run_close(lead->run, 0);
    lead->run = next;
    char *path = text_format("%s/current.json", lead->job_dir);
    json_t *current = json_pack("{s:s}", "run_dir", run_dir);
    char *text = json_dumps(current, 0);
    if (file_replace(path, text, strlen(text), 0600, &err) < 0)
        fprintf(stderr, "phase-worker lead: %s\n", err.message); /* the run itself can go on */
    json_decref(current);
    free(text);
    free(path);
    lead_begin(lead);
}

static void lead_command(void *context, const json_t *command)
{
    struct lead *lead = context;
    const char *verb = json_string_value(json_object_get(command, "verb"));
    const char *why = json_string_value(json_object_get(command, "why"));
    const char *run_dir = json_string_value(json_object_get(command, "run_dir"));
    bool is_lingering = lead->state == LEAD_LINGERING;
    if (!verb || lead->state == LEAD_LEAVING)
        return;
    if (is_lingering && text_equal(verb, "next") && run_dir)
        lead_next(lead, run_dir);
    else if (is_lingering)
        lead_leave(lead);
    else if (text_equal(verb, "stop") &&
             lead_run_decide(lead->run, OUTCOME_CANCELLED, OUTCOME_CAUSE_NONE, "stopped: %s",
                             why ? why : "cancelled")) {
        lead_run_tell_stop(lead->run, why ? why : "cancelled");
        lead_stop(lead, lead_run_stop_seconds(lead->run));
    }
}

/* --- Agents ---------------------------------------------------------------------------------- */

static void lead_agent_ready(struct lead *lead, struct lead_agent *agent, const char *node)
{
    if (agent->node)
        return;
    agent->node = text_format("%s", node);
    if (++lead->ready == lead->count)
        lead_begin(lead);
}

static void lead_agent_gone(struct lead *lead, struct lead_agent *agent)
{
    unsigned gone = 0;
    agent->is_gone = true;
    for (unsigned i = 0; i < lead->count; i++)
        gone += lead->agents[i].is_gone;
    if (gone == lead->count)
        step_send(lead->step, "finish");
}

static void lead_agent_ended(struct lead *lead, struct lead_agent *agent, const json_t *report)
{
    if (agent->is_ended)
        return;
    agent->is_ended = true;
    lead_run_add_end(lead->run, agent->node, report);
    if (lead_all_ended(lead))
        lead_conclude(lead);
}

static void lead_agent_guard(struct lead *lead, const json_t *report)
{
    const char *message = json_string_value(json_object_get(report, "message"));
    bool is_nan = text_equal(json_string_value(json_object_get(report, "cause")), "nan");
    json_t *verdict = json_object_get(report, "verdict");
    if (!lead_run_decide(lead->run, OUTCOME_FAILED,
                         is_nan ? OUTCOME_CAUSE_NAN : OUTCOME_CAUSE_GUARD, "%s",
                         message ? message : "a guard failed"))
        return;
    if (json_is_object(verdict))
        lead->run->outcome.guard = json_incref(verdict);
    lead_run_tell_stop(lead->run, is_nan ? "nan" : "guard");
    lead_stop(lead, lead_run_stop_seconds(lead->run));
}

static void lead_agent_failed(struct lead *lead, const struct lead_agent *agent,
                              const json_t *report)
{
    const char *message = json_string_value(json_object_get(report, "message"));
    bool is_new;
    if (message)
        is_new = lead_run_decide(lead->run, OUTCOME_FAILED, OUTCOME_CAUSE_LAUNCH, "%s: %s",
                                 agent->node, message);
    else
        is_new = lead_run_decide_failed(lead->run, json_object_get(report, "failed"), agent->node);
    if (!is_new)
        return;
    lead_run_tell_stop(lead->run, message ? "launch" : "exit");
    lead_stop(lead, lead_run_stop_seconds(lead->run));
}

static void lead_reported(void *context, const json_t *report)
{
    struct lead *lead = context;
    const char *name = json_string_value(json_object_get(report, "report"));
    const char *node = json_string_value(json_object_get(report, "node"));
    json_int_t index = json_integer_value(json_object_get(report, "index"));
    const json_t *run = json_object_get(report, "run");
    if (!node || index < 0 || index >= lead->count || lead->state == LEAD_LEAVING)
        return;
    struct lead_agent *agent = &lead->agents[index];
    bool is_other =
        json_is_integer(run) && json_integer_value(run) != (json_int_t)lead->run->assignment->run;
    if (text_equal(name, "ready"))
        lead_agent_ready(lead, agent, node);
    else if (text_equal(name, "terminated"))
        lead_interrupted(lead);
    else if (is_other || lead->state != LEAD_RUNNING)
        return;
    else if (text_equal(name, "started"))
        lead_run_add_start(lead->run, report);
    else if (text_equal(name, "gone"))
        lead_agent_gone(lead, agent);
    else if (text_equal(name, "ended"))
        lead_agent_ended(lead, agent, report);
    else if (lead->is_asking)
        return; /* a stop from outside: what follows from it is no cause */
    else if (text_equal(name, "guard"))
        lead_agent_guard(lead, report);
    else if (text_equal(name, "failed") || text_equal(name, "cannot_start"))
        lead_agent_failed(lead, agent, report);
}

/* srun has ended: as it was told, or it takes the run with it. */
static void lead_step_ended(void *context, int code, int number)
{
    struct lead *lead = context;
    const char *complaint = step_complaint(lead->step);
    if (complaint[0])
        (void)snprintf(lead->complaint, sizeof(lead->complaint), "%s", complaint); /* may be cut */
    else
        (void)snprintf(lead->complaint, sizeof(lead->complaint), "srun %s %d",
                       number ? "was killed by signal" : "exited with code",
                       number ? number : code); /* fits */
    step_close(lead->step);
    lead->step = NULL;
    if (lead->state == LEAD_LEAVING) {
        lead_close(lead);
        return;
    }
    if (lead->state == LEAD_LINGERING) {
        lead_leave(lead);
        return;
    }
    lead_ask(lead);
    lead_conclude(lead);
}

/* --- Start ----------------------------------------------------------------------------------- */

static void lead_launch_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    (void)lead_run_decide(lead->run, OUTCOME_FAILED, OUTCOME_CAUSE_LAUNCH,
                          "only %u of %u agents were there after %d s", lead->ready, lead->count,
                          LEAD_LAUNCH_MS / 1000);
    if (lead->step)
        step_kill(lead->step); /* its end concludes the run */
}

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

static void lead_start_step(struct lead *lead)
{
    const struct step_options options = {
        .loop = &lead->loop,
        .program = lead->program,
        .job_dir = lead->job_dir,
        .nodes = lead->count,
        .reported = lead_reported,
        .ended = lead_step_ended,
        .context = lead,
    };
    struct error err;
    if (lead->run->is_decided || step_start(&options, &lead->step, &err) < 0) {
        (void)lead_run_decide(lead->run, OUTCOME_FAILED, OUTCOME_CAUSE_LAUNCH, "%s", err.message);
        lead_conclude(lead);
        return;
    }
    uv_timer_start(&lead->timer, lead_launch_done, LEAD_LAUNCH_MS, 0);
}

static void lead_init(struct lead *lead, const char *job_dir)
{
    char program[4096];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[size > 0 ? size : 0] = '\0';
    int64_t count = lead_number("SLURM_JOB_NUM_NODES");
    lead->job_dir = job_dir;
    lead->program = text_format("%s", program);
    lead->job_id = lead_number("SLURM_JOB_ID");
    lead->end_time = (double)lead_number("SLURM_JOB_END_TIME");
    lead->count = count > 0 ? (unsigned)count : 1;
    lead->agents = calloc(lead->count, sizeof(*lead->agents));
    if (!lead->agents)
        abort();
    (void)signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&lead->loop);
    uv_signal_init(&lead->loop, &lead->term);
    uv_signal_init(&lead->loop, &lead->interrupt);
    uv_signal_init(&lead->loop, &lead->limit);
    uv_timer_init(&lead->loop, &lead->timer);
    lead->term.data = lead->interrupt.data = lead->limit.data = lead->timer.data = lead;
    uv_signal_start(&lead->term, lead_term_done, SIGTERM);
    uv_signal_start(&lead->interrupt, lead_term_done, SIGINT);
    uv_signal_start(&lead->limit, lead_limit_done, SIGUSR2);
    commands_init(&lead->commands, &lead->loop, lead_command, lead);
}

static void lead_fini(struct lead *lead)
{
    int result = uv_loop_close(&lead->loop);
    assert(result == 0);
    (void)result; /* every handle was closed */
    for (unsigned i = 0; i < lead->count; i++)
        free(lead->agents[i].node);
    free(lead->agents);
    free(lead->program);
}

/* The run that the job is to serve first. */
static int lead_open_first(struct lead *lead, struct error *err)
{
    char *path = text_format("%s/current.json", lead->job_dir), *text = NULL;
    int result = file_read(path, LEAD_CURRENT_MAX, &text, NULL, err);
    json_t *current = result == 0 ? json_loads(text, 0, NULL) : NULL;
    const char *run_dir = json_string_value(json_object_get(current, "run_dir"));
    if (run_dir)
        result = lead_run_open(run_dir, &lead->commands, &lead->run, err);
    else if (result == 0)
        result = error_set(err, -EINVAL, "%s names no run_dir", path);
    json_decref(current);
    free(text);
    free(path);
    return result;
}

int lead_main(const char *job_dir)
{
    struct lead lead = {0};
    struct error err;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* job.log is read while it grows */
    lead_init(&lead, job_dir);
    if (lead_open_first(&lead, &err) < 0) {
        fprintf(stderr, "phase-worker lead: %s\n", err.message);
        lead.has_failed = true;
        lead_close(&lead);
    } else {
        if (lead.end_time == 0)
            inquiry_start(&lead.loop, lead.job_id, lead_limit_known, &lead);
        lead_start_step(&lead);
    }
    uv_run(&lead.loop, UV_RUN_DEFAULT);
    lead_fini(&lead);
    return lead.has_failed ? 1 : 0;
}
