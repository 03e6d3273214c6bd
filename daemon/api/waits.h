/* What a run waits for: Slurm's reason in words, when Slurm expects the job to start, and the turn
 * of the run. */
#ifndef PHASED_DAEMON_API_WAITS_H
#define PHASED_DAEMON_API_WAITS_H

#include <jansson.h>

struct loop;

/* Explains a reason of Slurm: "no nodes that fit are free (Resources)". Reasons that are clear, or
 * that later releases bring, stay as they are. Without a reason (""), Slurm has not looked at the
 * job. The caller frees the text. */
char *waits_explain(const char *reason);

/* Adds `job_turn`, `job_waits_for` and `job_start` to the runs of a workflow, phase or run that
 * wait. */
void waits_add(struct loop *loop, json_t *json);

#endif
