/* The main loop of the agent: gives the lead's commands to the run, and sends reports to the lead.
 */
#include "worker/node/agent.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/report.h"
#include "lib/protocol/words.h"
#include "lib/text.h"
#include "worker/lines.h"
#include "worker/node/node_run.h"
#include "worker/node/task.h"
#include "worker/process/job_steps.h"
#include "worker/process/processes.h"
#include "worker/protocol/orphan.h"
#include "worker/protocol/phase_claim.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
    AGENT_LINE_MAX = 8192,
    AGENT_DRAIN_MS = 1000, /* for the daemon to take the last entries */
};

struct agent {
    uv_loop_t loop;
    uv_pipe_t input;
    uv_signal_t child, term, interrupt;
    uv_poll_t task;
    int task_fd; /* -1: the agent was started without a task */
    uv_timer_t look;
    char buffer[AGENT_LINE_MAX];
    struct lines lines;
    char *node, *program;
    unsigned index, restarts;
    unsigned start_number; /* counts the runs that the lead has told the agent to start */
    struct node_run *run;  /* the newest run, or NULL */
    char *run_dir;         /* of this run */
    unsigned claim;        /* the highest claim on the phase when the run began */
    bool is_orphan;        /* the lead is gone */
    bool is_leaving;
};

static void agent_tell(struct agent *agent, struct report *report)
{
    report->node = agent->node;
    report->index = agent->index;
    char *line = report_to_line(report);
    /* If nobody reads, the end of standard input follows. */
    (void)file_write(STDOUT_FILENO, line, strlen(line));
    free(line);
}

static void agent_leave(struct agent *agent)
{
    if (agent->is_leaving)
        return;
    agent->is_leaving = true;
    node_run_close(agent->run, AGENT_DRAIN_MS);
    agent->run = NULL;
    uv_close((uv_handle_t *)&agent->input, NULL);
    uv_close((uv_handle_t *)&agent->child, NULL);
    uv_close((uv_handle_t *)&agent->term, NULL);
    uv_close((uv_handle_t *)&agent->interrupt, NULL);
    uv_close((uv_handle_t *)&agent->look, NULL);
    (void)signal(SIGTERM, SIG_IGN); /* Slurm ends the job, while an image is still removed */
    (void)signal(SIGINT, SIG_IGN);
    if (agent->task_fd >= 0)
        uv_close((uv_handle_t *)&agent->task, NULL);
}

/* Takes a report of the run. Without a lead, the agent itself takes the next steps. */
static void agent_report(void *context, struct report *report)
{
    struct agent *agent = context;
    agent_tell(agent, report);
    if (agent->is_orphan && report->kind == REPORT_GONE)
        node_run_finish(agent->run);
    if (agent->is_orphan && report->kind == REPORT_ENDED)
        agent_leave(agent);
}

static void agent_start_run(struct agent *agent, const char *run_dir)
{
    const struct node_run_options options = {
        .loop = &agent->loop,
        .run_dir = run_dir,
        .node = agent->node,
        .node_index = agent->index,
        .restarts = agent->restarts,
        .start_number = ++agent->start_number,
        .program = agent->program,
        .report = agent_report,
        .context = agent,
    };
    /* The daemon has all of the old run, because it has decided on the next run. */
    node_run_close(agent->run, 0);
    free(agent->run_dir);
    agent->run_dir = xstrdup(run_dir);
    agent->claim = phase_claim_newest(run_dir);
    agent->run = node_run_start(&options);
}

/* The commands that the run itself obeys, without an argument. */
static void (*const agent_acts[AGENT_COMMAND_COUNT])(struct node_run *run) = {
    [AGENT_GO] = node_run_go_on,        [AGENT_KILL] = node_run_kill,
    [AGENT_EXAMINE] = node_run_examine, [AGENT_EVIDENCE] = node_run_save_evidence,
    [AGENT_SUSPECT] = node_run_suspect, [AGENT_NUMBERED] = node_run_number,
    [AGENT_JOIN] = node_run_join,       [AGENT_FINISH] = node_run_finish,
};

static void agent_obey(struct agent *agent, enum agent_command command, const char *argument)
{
    unsigned seconds = (unsigned)strtoul(argument, NULL, 10);
    if (command == AGENT_START) {
        agent_start_run(agent, argument);
    } else if (command == AGENT_STOP) {
        node_run_stop(agent->run, seconds);
    } else if (command == AGENT_RELAY || command == AGENT_EXPECT) {
        node_run_expect(agent->run, seconds, command == AGENT_RELAY);
    } else if (command == AGENT_END) {
        agent_leave(agent);
    } else {
        assert(agent_acts[command]);
        agent_acts[command](agent->run);
    }
}

/* Takes a line of the lead. Ignores a line that is not a command, and a command for a run if there
 * is no run. */
static void agent_command_found(void *context, const char *line, size_t size)
{
    struct agent *agent = context;
    (void)size;
    const char *space = strchr(line, ' ');
    char *name = text_format("%.*s", (int)strcspn(line, " "), line);
    int command = agent_command_parse(name);
    free(name);
    if (agent->is_leaving || command < 0 ||
        agent_command_has_argument((enum agent_command)command) != (space != NULL))
        return;
    if (agent->run || command == AGENT_START || command == AGENT_END)
        agent_obey(agent, (enum agent_command)command, space ? space + 1 : "");
}

/* The lead is gone. Stops the run, and leaves when no process is left. */
static void agent_orphaned(struct agent *agent)
{
    agent->is_orphan = true;
    if (agent->run && !node_run_is_over(agent->run)) {
        node_run_stop(agent->run, AGENT_ORPHAN_S);
        return;
    }
    if (agent->run)
        node_run_finish(agent->run); /* its last entry says whether the run succeeded here */
    agent_leave(agent);
}

static bool agent_is_superseded(const struct agent *agent)
{
    const struct phase_life life = phase_life_own();
    struct error err;
    return outcome_is_there(agent->run_dir, life.token) ||
           outcome_is_sealed(agent->run_dir, &err) ||
           phase_claim_is_lost(agent->run_dir, &life, agent->claim);
}

/* Notices that the run was ended without this node. If only slurmd died, Slurm has given up the
 * node and requeued the job. Then standard input stays open, and nobody else stops the processes
 * here. The run continues elsewhere, where a lead waits for AGENT_UNTOLD_MS. */
static void agent_look_done(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    if (agent->is_leaving || agent->is_orphan || !agent->run || node_run_is_over(agent->run) ||
        !agent_is_superseded(agent))
        return;
    fprintf(stderr, "phase-worker node: the run was ended without this node\n");
    agent_tell(agent, &(struct report){.kind = REPORT_SUPERSEDED});
    agent_orphaned(agent);
}

static void agent_read_start(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    struct agent *agent = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init(agent->buffer, sizeof agent->buffer);
}

static void agent_read_done(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct agent *agent = stream->data;
    if (size > 0)
        lines_feed(&agent->lines, buffer->base, (size_t)size, agent_command_found, agent);
    if (size >= 0 || agent->is_leaving)
        return;
    uv_read_stop(stream);
    orphan_tell(); /* srun may not know it */
    agent_orphaned(agent);
}

static void agent_child_done(uv_signal_t *handle, int number)
{
    struct agent *agent = handle->data;
    (void)number;
    if (agent->run)
        node_run_reap(agent->run);
}

static void agent_term_done(uv_signal_t *handle, int number)
{
    struct agent *agent = handle->data;
    (void)number;
    if (agent->run)
        node_run_terminated(agent->run, true);
    agent_tell(agent, &(struct report){.kind = REPORT_TERMINATED, .is_all = true});
}

/* The task was killed. Slurm has given up the job step, and may not know the processes of this
 * agent. If slurmstepd was killed, too, srun does not know it. */
static void agent_die(void)
{
    processes_end_all();
    orphan_tell();
    _exit(1);
}

static void agent_task_done(uv_poll_t *poll, int status, int events)
{
    struct agent *agent = poll->data;
    char byte;
    (void)status;
    (void)events;
    ssize_t size = recv(agent->task_fd, &byte, 1, MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN))
        agent_die();
    if (size != 1)
        return;
    if (agent->run)
        node_run_terminated(agent->run, false);
    agent_tell(agent, &(struct report){.kind = REPORT_TERMINATED});
}

static void agent_attend_task(struct agent *agent)
{
    const char *value = getenv(TASK_VARIABLE);
    char *end;
    agent->task_fd = -1;
    if (!value)
        return;
    agent->task_fd = (int)strtol(value, &end, 10);
    job_steps_know_heir((pid_t)strtol(end, NULL, 10));
    (void)unsetenv(TASK_VARIABLE);
    (void)fcntl(agent->task_fd, F_SETFD, FD_CLOEXEC);
    uv_poll_init(&agent->loop, &agent->task, agent->task_fd);
    agent->task.data = agent;
    uv_poll_start(&agent->task, UV_READABLE | UV_DISCONNECT, agent_task_done);
}

static void agent_init(struct agent *agent)
{
    const char *node = getenv("SLURMD_NODENAME"), *index = getenv("SLURM_NODEID");
    agent->lines.size_max = AGENT_LINE_MAX;
    agent->node = xstrdup(node ? node : "node");
    agent->program = place_self();
    agent->index = index ? (unsigned)strtoul(index, NULL, 10) : 0;
    agent->restarts = phase_life_own().restarts;
    uv_loop_init(&agent->loop);
    uv_pipe_init(&agent->loop, &agent->input, 0);
    uv_signal_init(&agent->loop, &agent->child);
    uv_signal_init(&agent->loop, &agent->term);
    uv_signal_init(&agent->loop, &agent->interrupt);
    uv_timer_init(&agent->loop, &agent->look);
    agent->look.data = agent;
    agent->input.data = agent->child.data = agent->term.data = agent->interrupt.data = agent;
}

static void agent_fini(struct agent *agent)
{
    int status = uv_loop_close(&agent->loop);
    assert(status == 0);
    (void)status; /* all handles are closed */
    lines_fini(&agent->lines);
    free(agent->run_dir);
    free(agent->node);
    free(agent->program);
}

int agent_main(const char *job_dir)
{
    struct agent agent = {0};
    struct error err;
    (void)job_dir; /* only for people: it tells agents apart in the output of ps */
    if (processes_adopt(&err) < 0) {
        fprintf(stderr, "phase-worker node: %s\n", err.message);
        return 1;
    }
    /* Some sites signal whole job steps. A closed pipe shows as an error of write(). */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGUSR2, SIG_IGN);
    agent_init(&agent);
    agent_attend_task(&agent);
    int status = uv_pipe_open(&agent.input, STDIN_FILENO);
    if (status < 0) {
        fprintf(stderr, "phase-worker node: cannot read commands: %s\n", uv_strerror(status));
        return 1;
    }
    uv_signal_start(&agent.child, agent_child_done, SIGCHLD);
    uv_signal_start(&agent.term, agent_term_done, SIGTERM);
    uv_signal_start(&agent.interrupt, agent_term_done, SIGINT);
    uv_read_start((uv_stream_t *)&agent.input, agent_read_start, agent_read_done);
    uv_timer_start(&agent.look, agent_look_done, AGENT_LOOK_MS, AGENT_LOOK_MS);
    agent_tell(&agent, &(struct report){.kind = REPORT_READY});
    uv_run(&agent.loop, UV_RUN_DEFAULT);
    agent_fini(&agent);
    return agent.is_orphan ? 1 : 0;
}
