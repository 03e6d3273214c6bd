/* What phases at work will have cost when they end, at their pace so far; added to answers. */
#ifndef PHASED_DAEMON_STORE_PROJECTION_H
#define PHASED_DAEMON_STORE_PROJECTION_H

#include <jansson.h>

/* Adds `projected_cost_usd` and `projected_gpu_seconds` to a phase: null while its end or its price
 * is not known, or if it has no GPUs. Takes `gpus_paid` out, by which its hours are counted. */
void projection_add(json_t *phase);

/* The same for a workflow. Phases at work count until their end, the others until now. Null while
 * no phase has a projection: phases that have not begun are not projected. */
void projection_sum(const json_t *phases, json_t *workflow);

#endif
