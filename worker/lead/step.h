/* The lead's one job step: srun with an agent on each node. Commands go to all agents through its
 * standard input, reports come back on its standard output, one JSON object a line. */
#ifndef PHASED_WORKER_LEAD_STEP_H
#define PHASED_WORKER_LEAD_STEP_H

#include <jansson.h>
#include <uv.h>

struct error;
struct step;

struct step_options {
    uv_loop_t *loop;
    const char *program; /* path of phase-worker */
    const char *job_dir;
    unsigned nodes;
    /* An agent reports; borrowed during the call. */
    void (*reported)(void *context, const json_t *report);
    /* srun has ended, and all it printed was read. The last call. */
    void (*ended)(void *context, int code, int signal);
    void *context;
};

int step_start(const struct step_options *options, struct step **ret_step, struct error *err);

/* Sends one line to all agents. */
void step_send(struct step *step, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What srun complained of, the loss of a task before all else; empty when of nothing. Borrowed. */
const char *step_complaint(const struct step *step);

/* Ends srun the hard way; `ended` follows. */
void step_kill(struct step *step);

/* After `ended`, or from within it. Accepts NULL. */
void step_close(struct step *step);

#endif
