/* Reading `resources: {gpus: ...}`: how many GPUs each node has, and of which type or types. */
#ifndef PHASED_LIB_SPEC_GPUS_H
#define PHASED_LIB_SPEC_GPUS_H

#include <jansson.h>

struct yaml_node;
struct scope;

/* Sets `gpus` and `gpu_type` of `resources` from the first alternative. Sets `alternatives` too: a
 * list of {"gpus", "gpu_type"}, empty without a choice. `node` is NULL if the file asks for no
 * GPUs. */
void gpus_read(struct scope *scope, const struct yaml_node *node, json_t *resources);

/* Changes the alternatives after the layout has changed the GPUs of a node. */
void gpus_follow(json_t *resources);

#endif
