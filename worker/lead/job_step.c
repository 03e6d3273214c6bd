/* Starts srun, and reads its output. */
#include "worker/lead/job_step.h"

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
};

/* A line that is not a report goes to the output of the job. */
static void job_step_report(void *context, const char *line, size_t size)
{
    struct job_step *step = context;
    json_t *json = json_loadb(line, size, 0, NULL);
    struct report report;
    if (report_read(json, &report))
        step->options.reported(step->options.context, &report);
    else
        printf("%s\n", line);
    json_decref(json);
}

static void job_step_complained(void *context, const char *line, size_t size)
{
    static const char begin[] = "srun: error: ";
    struct job_step *step = context;
    (void)size;
    fprintf(stderr, "%s\n", line);
    /* If a task is lost, srun ends the other tasks, and prints errors about them, too. */
    if (text_starts(line, begin) && !strstr(step->complaint, ": task ") &&
        !text_starts(step->complaint, "Node failure on "))
        (void)snprintf(step->complaint, sizeof step->complaint, "%s",
                       line + strlen(begin)); /* may be cut */
    if (text_starts(line, begin) && strstr(line, ": task "))
        step->options.lost(step->options.context);
}

static void job_step_ended(void *context, const struct child_end *end)
{
    struct job_step *step = context;
    step->options.ended(step->options.context, end->code, end->signal);
}

int job_step_start(const struct job_step_options *options, struct job_step **ret_step,
                   struct error *err)
{
    struct job_step *step = xcalloc(1, sizeof *step);
    char nodes[32], tasks[32];
    step->options = *options;
    (void)snprintf(nodes, sizeof nodes, "--nodes=%u", options->nodes); /* they fit */
    (void)snprintf(tasks, sizeof tasks, "--ntasks=%u", options->nodes);
    /* Without --overlap, a later step would wait. Without --kill-on-bad-exit, a killed agent would
     * not end the step. --input=all sends the input to all agents. --unbuffered is not used: it
     * gives the tasks a terminal, and lines of several nodes would mix. */
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
        (char *)options->program,
        "task",
        (char *)options->job_dir,
        NULL,
    };
    const struct child_options child = {
        .loop = options->loop,
        .kind = CHILD_OF_LOOP,
        .program = "srun",
        .arguments = arguments,
        .has_input = true,
        .out = {.output = CHILD_LINES, .size_max = JOB_STEP_LINE_MAX, .found = job_step_report},
        .err = {.output = CHILD_LINES, .size_max = JOB_STEP_LINE_MAX, .found = job_step_complained},
        .ended = job_step_ended,
        .context = step,
    };
    int status = child_start(&child, &step->child, err);
    if (status < 0)
        free(step);
    else
        *ret_step = step;
    return status;
}

void job_step_send(struct job_step *step, enum agent_command command, const char *argument)
{
    const char *name = agent_command_name(command);
    assert(agent_command_has_argument(command) == (argument != NULL));
    child_send(step->child,
               argument ? text_format("%s %s\n", name, argument) : text_format("%s\n", name));
}

const char *job_step_complaint(const struct job_step *step)
{
    return step->complaint;
}

void job_step_kill(struct job_step *step)
{
    child_signal(step->child, SIGKILL);
}

void job_step_close(struct job_step *step)
{
    if (!step)
        return;
    child_close(step->child);
    free(step);
}
