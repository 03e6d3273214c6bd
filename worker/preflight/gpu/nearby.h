/* Which processors are nearest to a GPU. Memory that these processors touch first is also the
 * nearest to the GPU. */
#ifndef PHASED_WORKER_PREFLIGHT_GPU_NEARBY_H
#define PHASED_WORKER_PREFLIGHT_GPU_NEARBY_H

#include <sched.h>

/* Reads a list as the kernel writes it, "0-15,32-47". Returns how many processors it names; 0: the
 * text is not such a list. */
int nearby_read(const char *list, cpu_set_t *ret_set);

/* Moves this process to the processors near the GPU at `address` on the PCI bus, "0000:18:00.0".
 * Returns whether it moved. It stays if the processors are not known or not allowed. */
int nearby_go(const char *address);

#endif
