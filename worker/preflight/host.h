/* The facts that do not need the GPUs: the kernel's log, scratch space, the clock. */
#ifndef PHASED_WORKER_PREFLIGHT_HOST_H
#define PHASED_WORKER_PREFLIGHT_HOST_H

struct facts;

/* Reads XIDs from the kernel's log: /dev/kmsg, or a file in the same form. */
void host_read_kernel_log(const char *path, struct facts *facts);
void host_read_scratch(const char *path, struct facts *facts);
void host_read_clock(struct facts *facts);

#endif
