/* Counts how many processes the kernel's OOM killer has killed: in the cgroup of the agent and its
 * ranks, and on the whole node. A process that was killed this way prints nothing. */
#ifndef PHASED_WORKER_HEALTH_MEMORY_KILLS_H
#define PHASED_WORKER_HEALTH_MEMORY_KILLS_H

#include <stdbool.h>
#include <stdint.h>

/* -1: unknown. */
struct memory_kills {
    int64_t here, node;
};

/* Reads /proc and /sys below `root`, which is "" except in tests. */
void memory_kills_read(const char *root, struct memory_kills *ret_kills);

/* Whether a rank that failed between the two readings ran out of memory. A kill elsewhere on the
 * node counts only if SIGKILL ended the rank (`was_killed`). */
bool memory_kills_tell(const struct memory_kills *before, const struct memory_kills *after,
                       bool was_killed);

#endif
