/* Reading `resources: {gpus: ...}`: how many on each node, of which type, or of which of several.
 */
#ifndef PHASED_LIB_SPEC_GPUS_H
#define PHASED_LIB_SPEC_GPUS_H

#include <jansson.h>

struct node;
struct scope;

/* Sets `gpus`, `gpu_type` (those of the first alternative) and `alternatives` of `resources`: a
 * list of {"gpus", "gpu_type"}, empty where there is no choice. `node` may be NULL: none. */
void gpus_read(struct scope *scope, const struct node *node, json_t *resources);

/* The layout has changed how many there are on a node. */
void gpus_follow(json_t *resources);

#endif
