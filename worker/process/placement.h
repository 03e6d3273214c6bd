/* Where a process stands among tensor x pipeline x data, and which of its node's GPUs it sees.
 *
 * Ranks are numbered as Megatron-LM does by default ("tp-cp-ep-dp-pp" in its parallel_state.py):
 * tensor neighbours come first, data next, pipeline stages last. So a tensor group is a row of
 * GPUs, within a node where it fits, and what crosses nodes is the little that stages exchange. */
#ifndef PHASED_WORKER_PROCESS_PLACEMENT_H
#define PHASED_WORKER_PROCESS_PLACEMENT_H

#include "worker/protocol/assignment.h"

struct placement {
    unsigned tensor, pipeline, data;
};

/* `rank` is less than the product of the sizes. */
struct placement placement_of(const struct assignment_sizes *sizes, unsigned rank);

/* `count` entries from the `first` on of a list of devices as in CUDA_VISIBLE_DEVICES, the
 * caller's to free(); NULL when it has not so many. Entries are taken as they stand, numbers and
 * UUIDs: only who made the list knows how they are counted. */
char *placement_devices(const char *list, unsigned first, unsigned count);

#endif
