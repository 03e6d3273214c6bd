/* Which processors are nearest to a GPU: memory that they touch first is the nearest too. */
#ifndef PHASED_WORKER_PREFLIGHT_GPU_NEARBY_H
#define PHASED_WORKER_PREFLIGHT_GPU_NEARBY_H

#include <sched.h>

/* Reads a list as the kernel writes it, "0-15,32-47". Returns how many processors it names; 0 for
 * what is no such list. */
int nearby_read(const char *list, cpu_set_t *ret_set);

/* Moves this process to those of the GPU at `address` on the PCI bus, "0000:18:00.0", as far as it
 * may. Returns whether it could: where it is told nothing, or may not go, it stays. */
int nearby_go(const char *address);

#endif
