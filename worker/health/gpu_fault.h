/* A fault of a GPU that the driver has reported and that may explain a failure. The programs see
 * only that a kernel or a collective failed, and blame themselves.
 *
 * A fault counts only if the catalogue has it as a cause ("GPU 3 reported Xid 79"), and only if the
 * ranks do not continue. If they print in ten different seconds, more than a minute after the
 * fault, the fault is dropped. */
#ifndef PHASED_WORKER_HEALTH_GPU_FAULT_H
#define PHASED_WORKER_HEALTH_GPU_FAULT_H

#include <jansson.h>
#include <stdint.h>

struct assignment;

/* A zero-initialised struct has no fault. */
struct gpu_fault {
    json_t *failure; /* as in failure.h, without rank and time; or NULL */
    int64_t heard_ms, second;
    uint64_t printed; /* at the last look */
    unsigned seconds; /* seconds with output after the fault */
};

void gpu_fault_fini(struct gpu_fault *fault);

/* The driver reported `line`. The first fault counts. */
void gpu_fault_hear(struct gpu_fault *fault, const struct assignment *assignment, const char *line,
                    int64_t now_ms);

/* `printed` is how much the ranks have printed until now. Call this a few times a second. */
void gpu_fault_look(struct gpu_fault *fault, uint64_t printed, int64_t now_ms);

/* Returns the better explanation of the two: the fault, or `failure`; borrowed. NULL: there is
 * neither. */
json_t *gpu_fault_or(const struct gpu_fault *fault, const struct assignment *assignment,
                     json_t *failure);

#endif
