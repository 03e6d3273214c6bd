/* The current state of workflows, runs and GPUs in Prometheus' text format 0.0.4. */
#ifndef PHASED_DAEMON_API_EXPOSITION_H
#define PHASED_DAEMON_API_EXPOSITION_H

#include "lib/text.h"

#include <jansson.h>
#include <stdint.h>

/* `at_work` is the result of answer_at_work(). The metrics of GPUs have the names, labels and units
 * of dcgm-exporter, so that its dashboards work, and the label `phased_run`. A value that the
 * driver does not give, or that is older than three minutes, is left out. */
void exposition_write(const json_t *at_work, int64_t now_ms, struct text *text);

/* The lines of workflows that were added, by family. */
enum { EXPOSITION_WORKFLOW_FAMILIES = 5 };
struct exposition_workflows {
    struct text families[EXPOSITION_WORKFLOW_FAMILIES];
};

/* Adds a WORKFLOW: its state, how many of its phases are in each state, its cost and its budget.
 * What is not known is left out. */
void exposition_add_workflow(struct exposition_workflows *workflows, const json_t *workflow);
/* Adds all workflows to `text`, and empties `workflows`. */
void exposition_write_workflows(struct exposition_workflows *workflows, struct text *text);

#endif
