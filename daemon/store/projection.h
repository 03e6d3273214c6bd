/* Adds to answers what running phases will have cost when they end, if they keep their pace. */
#ifndef PHASED_DAEMON_STORE_PROJECTION_H
#define PHASED_DAEMON_STORE_PROJECTION_H

#include <jansson.h>

/* Adds `projected_cost_usd` and `projected_gpu_seconds` to a phase. They are null while the phase's
 * end or price is not known, or if the phase has no GPUs. Takes out `gpus_paid`, which says how its
 * hours count. */
void projection_add(json_t *phase);

/* Does the same for a workflow. Running phases count until their end, other phases until now. Null
 * while no phase has a projection: phases that have not begun are not projected. */
void projection_sum(const json_t *phases, json_t *workflow);

#endif
