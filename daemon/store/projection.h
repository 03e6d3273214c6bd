/* What phases at work will have cost when they end, at their pace so far; added to answers. */
#ifndef PHASED_DAEMON_STORE_PROJECTION_H
#define PHASED_DAEMON_STORE_PROJECTION_H

#include <jansson.h>

/* Adds `projected_cost_usd` and `projected_gpu_seconds` to a phase: null while no end is known, or
 * no price, or where it has no GPUs. Takes `gpus_paid` out: those that its hours are counted by. */
void projection_add(json_t *phase);

/* The same for a workflow: of its phases that are at work until they end, and of the others until
 * now. Null while none has a projection: what has not begun is not foretold. */
void projection_sum(const json_t *phases, json_t *workflow);

#endif
