/* The one job step of a lead: srun with an agent on each node. Commands go to all agents through
 * the standard input of srun. Reports come back on its standard output, one JSON object a line. */
#ifndef PHASED_WORKER_LEAD_JOB_STEP_H
#define PHASED_WORKER_LEAD_JOB_STEP_H

#include "lib/protocol/report.h"

#include <stdint.h>
#include <uv.h>

struct error;
struct job_step;

struct job_step_options {
    uv_loop_t *loop;
    const char *program; /* path of phase-worker */
    const char *job_dir;
    unsigned nodes;
    unsigned gpus; /* of each node, if the job step must ask for them; otherwise 0 */
    /* An agent has sent a report, borrowed during the call. */
    void (*reported)(void *context, const struct report *report);
    /* srun says that an agent has ended badly. srun should now end the other agents. */
    void (*lost)(void *context);
    /* srun has ended, and all of its output was read. This is the last call. */
    void (*ended)(void *context, int code, int signal);
    void *context;
};

int job_step_start(const struct job_step_options *options, struct job_step **ret_job_step,
                   struct error *err);

/* Sends a command to all agents. The argument is NULL if the command has no argument. */
void job_step_send(struct job_step *job_step, enum agent_command command, const char *argument);

/* Returns the last error of srun. If an error says that a task or a node was lost, later errors do
 * not replace it. Empty: srun printed no error. Borrowed. */
const char *job_step_complaint(const struct job_step *job_step);
/* The same, but empty if the error came before `since_ms` and names no lost task or node: srun may
 * print errors from which the job step recovers. */
const char *job_step_complaint_since(const struct job_step *job_step, int64_t since_ms);

/* Kills srun; `ended` follows. */
void job_step_kill(struct job_step *job_step);

/* Call it after `ended` or within it. Accepts NULL. */
void job_step_close(struct job_step *job_step);

#endif
