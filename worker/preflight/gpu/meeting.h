/* How the nodes of a group find each other: the first node writes the id of the group, which NCCL
 * calls a unique id, into a file in a folder that all nodes see. */
#ifndef PHASED_WORKER_PREFLIGHT_GPU_MEETING_H
#define PHASED_WORKER_PREFLIGHT_GPU_MEETING_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* Writes the id. -EEXIST: the folder was used before, so another node may have read an old id. */
int meeting_publish(const char *folder, unsigned round, unsigned group, const void *id, size_t size,
                    struct error *err);

/* Waits for the id until `end_ms` of the steady clock; then returns -ETIMEDOUT. */
int meeting_await(const char *folder, unsigned round, unsigned group, void *ret_id, size_t size,
                  int64_t end_ms, struct error *err);

#endif
