/* Starts srun, and reads its output. */
#include "worker/lead/job_step.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/protocol/report.h"
#include "lib/text.h"
#include "worker/process/child.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_STEP_LINE_MAX = 65536, JOB_STEP_ARGUMENTS = 24 };

struct job_step {
    struct job_step_options options;
    struct child *child;
    char complaint[256];
    int64_t complained_ms; /* when it was printed */
};

/* Whether the complaint says that a task or a node was lost. */
static bool job_step_is_loss(const char *complaint)
{
    return strstr(complaint, ": task ") || text_starts(complaint, "Node failure on ");
}

/* A line that is not a report goes to the output of the job. */
static void job_step_report(void *context, const char *line, size_t size)
{
    struct job_step *job_step = context;
    json_t *json = json_loadb(line, size, 0, NULL);
    struct report report;
    if (report_read(json, &report))
        job_step->options.reported(job_step->options.context, &report);
    else
        printf("%s\n", line);
    json_decref(json);
}

static void job_step_complained(void *context, const char *line, size_t size)
{
    static const char begin[] = "srun: error: ";
    struct job_step *job_step = context;
    (void)size;
    fprintf(stderr, "%s\n", line);
    /* If a task is lost, srun ends the other tasks, and prints errors about them, too. */
    if (text_starts(line, begin) && !job_step_is_loss(job_step->complaint)) {
        (void)snprintf(job_step->complaint, sizeof job_step->complaint, "%s",
                       line + strlen(begin)); /* may be cut */
        job_step->complained_ms = clock_steady_ms();
    }
    if (text_starts(line, begin) && strstr(line, ": task "))
        job_step->options.lost(job_step->options.context);
}

static void job_step_ended(void *context, const struct child_end *end)
{
    struct job_step *job_step = context;
    job_step->options.ended(job_step->options.context, end->code, end->signal);
}

int job_step_start(const struct job_step_options *options, struct job_step **ret_job_step,
                   struct error *err)
{
    struct job_step *job_step = xcalloc(1, sizeof *job_step);
    char nodes[32], tasks[32], gpus[32];
    job_step->options = *options;
    (void)snprintf(nodes, sizeof nodes, "--nodes=%u", options->nodes); /* they fit */
    (void)snprintf(tasks, sizeof tasks, "--ntasks=%u", options->nodes);
    (void)snprintf(gpus, sizeof gpus, "--gres=gpu:%u", options->gpus);
    /* Without --overlap, a later job step would wait. Without --kill-on-bad-exit, a killed agent
     * would not end the job step. --input=all sends the input to all agents. --unbuffered is not
     * used: it gives the tasks a terminal, and lines of several nodes would mix. */
    char *arguments[JOB_STEP_ARGUMENTS] = {
        "srun",
        "--overlap",
        "--kill-on-bad-exit=1",
        "--cpu-bind=none",
        "--mem=0",
        nodes,
        tasks,
        "--ntasks-per-node=1",
        "--mpi=none",
        "--input=all",
        "--job-name=phased",
    };
    char **next = arguments;
    while (*next)
        next++;
    if (options->gpus)
        *next++ = gpus;
    *next++ = (char *)options->program;
    *next++ = "task";
    *next = (char *)options->job_dir;
    const struct child_options child = {
        .loop = options->loop,
        .kind = CHILD_OF_LOOP,
        .program = "srun",
        .arguments = arguments,
        .has_input = true,
        .out = {.output = CHILD_LINES, .size_max = JOB_STEP_LINE_MAX, .found = job_step_report},
        .err = {.output = CHILD_LINES, .size_max = JOB_STEP_LINE_MAX, .found = job_step_complained},
        .ended = job_step_ended,
        .context = job_step,
    };
    int status = child_start(&child, &job_step->child, err);
    if (status < 0)
        free(job_step);
    else
        *ret_job_step = job_step;
    return status;
}

void job_step_send(struct job_step *job_step, enum agent_command command, const char *argument)
{
    const char *name = agent_command_name(command);
    assert(agent_command_has_argument(command) == (argument != NULL));
    child_send(job_step->child,
               argument ? text_format("%s %s\n", name, argument) : text_format("%s\n", name));
}

const char *job_step_complaint(const struct job_step *job_step)
{
    return job_step->complaint;
}

const char *job_step_complaint_since(const struct job_step *job_step, int64_t since_ms)
{
    bool counts = job_step_is_loss(job_step->complaint) || job_step->complained_ms >= since_ms;
    return counts ? job_step->complaint : "";
}

void job_step_kill(struct job_step *job_step)
{
    child_signal(job_step->child, SIGKILL);
}

void job_step_close(struct job_step *job_step)
{
    if (!job_step)
        return;
    child_close(job_step->child);
    free(job_step);
}
