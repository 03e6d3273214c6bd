/* How often the kernel's OOM killer has struck: in the agent's own cgroup, in which its ranks are
 * too, and on the whole node. A process that it kills says nothing itself. */
#ifndef PHASED_WORKER_HEALTH_MEMORY_KILLS_H
#define PHASED_WORKER_HEALTH_MEMORY_KILLS_H

#include <stdbool.h>
#include <stdint.h>

/* -1: not known. */
struct memory_kills {
    int64_t here, node;
};

/* Reads /proc and /sys below `root`: "" but in tests. */
void memory_kills_read(const char *root, struct memory_kills *ret_kills);

/* Whether a rank that failed between the two readings did so for want of memory. That something
 * else was killed on the node says little, unless the rank was ended by SIGKILL too. */
bool memory_kills_tell(const struct memory_kills *before, const struct memory_kills *after,
                       bool was_killed);

#endif
