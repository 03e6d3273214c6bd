/* What the node says without its GPUs: the kernel's log, scratch space, the clock. */
#ifndef PHASED_WORKER_PREFLIGHT_HOST_H
#define PHASED_WORKER_PREFLIGHT_HOST_H

struct facts;

/* Reads XIDs from the kernel's log: /dev/kmsg, or a file in its form. */
void host_read_kernel_log(const char *path, struct facts *facts);
void host_read_scratch(const char *path, struct facts *facts);
void host_read_clock(struct facts *facts);

/* Takes the XID out of one record of /dev/kmsg, "priority,sequence,microseconds,...;message", if
 * there is one; `now_us` is on the clock of the records. */
void host_add_kernel_record(const char *record, unsigned long long now_us, struct facts *facts);

#endif
