/* What the GPUs of a run do, as tables and in a line, from {"gpus", "paces"} of the API. */
#ifndef PHASED_CLI_GPU_VIEW_H
#define PHASED_CLI_GPU_VIEW_H

#include <stdbool.h>

#include <jansson.h>

struct terminal;
struct text;

/* Whether anything is known about the GPUs or the pace of any node. */
bool gpu_view_knows(const json_t *reply);

/* One line for each node: its newest step, how fast its steps are, what its GPUs do, which GPUs are
 * in trouble. A node reports its step once a minute, so the age of the step stands beside it. `now`
 * is seconds since 1970; NaN: without the steps. If nothing is known, both tables are one
 * sentence. */
void gpu_view_nodes(const struct terminal *terminal, const json_t *reply, double now,
                    struct text *text);
/* One line for each GPU. */
void gpu_view_each(const struct terminal *terminal, const json_t *reply, struct text *text);

/* All GPUs in a few words. Adds nothing if there are no GPUs. */
void gpu_view_summary(const json_t *reply, struct text *text);
/* How long a step takes on the nodes, in a few words. Adds nothing if that is not known. */
void gpu_view_step_time(const json_t *reply, struct text *text);

#endif
