/* How the nodes of a group find each other: the first one puts what NCCL calls a unique id into a
 * file of a folder that all of them see. */
#ifndef PHASED_WORKER_PREFLIGHT_GPU_MEETING_H
#define PHASED_WORKER_PREFLIGHT_GPU_MEETING_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* -EEXIST: the folder was used before, and somebody may have read what is no longer true. */
int meeting_publish(const char *folder, unsigned round, unsigned group, const void *id, size_t size,
                    struct error *err);

/* Waits for it, until `end_ms` on the steady clock: -ETIMEDOUT. */
int meeting_await(const char *folder, unsigned round, unsigned group, void *ret_id, size_t size,
                  int64_t end_ms, struct error *err);

#endif
