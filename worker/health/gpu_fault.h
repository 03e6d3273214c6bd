/* What the driver told of a GPU of the run that explains a failure: programs see of such a fault no
 * more than that a kernel or a collective failed, and blame themselves.
 *
 * Only what the catalogue takes for a cause counts ("GPU 3 reported Xid 79"), and only while the
 * ranks do not go on: when they have printed in ten different seconds more than a minute later, it
 * was none. */
#ifndef PHASED_WORKER_HEALTH_GPU_FAULT_H
#define PHASED_WORKER_HEALTH_GPU_FAULT_H

#include <jansson.h>
#include <stdint.h>

struct assignment;

/* Zero-initialised is none. */
struct gpu_fault {
    json_t *failure; /* of failure.h, without a rank and a time; NULL: none */
    int64_t heard_ms, second;
    uint64_t printed; /* at the look before */
    unsigned seconds; /* in which the ranks went on */
};

void gpu_fault_fini(struct gpu_fault *fault);

/* The driver told `line`. The first fault counts. */
void gpu_fault_hear(struct gpu_fault *fault, const struct assignment *assignment, const char *line,
                    int64_t now_ms);

/* The ranks have printed so much until now. Called a few times a second. */
void gpu_fault_look(struct gpu_fault *fault, uint64_t printed, int64_t now_ms);

/* The one of both that tells more; borrowed. NULL: there is neither. */
json_t *gpu_fault_or(const struct gpu_fault *fault, const struct assignment *assignment,
                     json_t *failure);

#endif
