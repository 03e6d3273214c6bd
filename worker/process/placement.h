/* The place of a process in the layout tensor x pipeline x data, and the GPUs of its node that it
 * sees.
 *
 * Ranks are numbered as Megatron-LM does by default ("tp-cp-ep-dp-pp" in its parallel_state.py):
 * tensor neighbours first, data next, pipeline stages last. So a tensor group is a row of GPUs,
 * within one node if it fits. Only the small exchange between stages crosses nodes. */
#ifndef PHASED_WORKER_PROCESS_PLACEMENT_H
#define PHASED_WORKER_PROCESS_PLACEMENT_H

#include "worker/protocol/assignment.h"

struct placement {
    unsigned tensor, pipeline, data;
};

/* `rank` is less than the product of the sizes. */
struct placement placement_of(const struct assignment_sizes *sizes, unsigned rank);

/* Returns `count` entries, from entry `first` on, of a list of devices such as
 * CUDA_VISIBLE_DEVICES. The caller frees the list. NULL: the list is too short. Entries may be
 * numbers or UUIDs, and are copied unchanged, because only the author of the list knows how they
 * are counted. */
char *placement_devices(const char *list, unsigned first, unsigned count);

#endif
