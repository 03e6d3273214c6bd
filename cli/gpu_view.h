/* What the GPUs of a run do, as tables and in a line: out of the API's {"gpus", "paces"}. */
#ifndef PHASED_CLI_GPU_VIEW_H
#define PHASED_CLI_GPU_VIEW_H

#include <jansson.h>

struct terminal;
struct text;

/* A line a node: how fast its steps come, what its GPUs do together, which are in trouble. */
void gpu_view_nodes(const struct terminal *terminal, const json_t *reply, struct text *text);
/* A line a GPU. */
void gpu_view_each(const struct terminal *terminal, const json_t *reply, struct text *text);

/* All GPUs in a few words; nothing where there are none. */
void gpu_view_summary(const json_t *reply, struct text *text);
/* How long the nodes' steps take, in a few words; nothing where that is not known. */
void gpu_view_step_time(const json_t *reply, struct text *text);

#endif
