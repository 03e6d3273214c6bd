/* Keeps the first fault of a GPU. */
#include "worker/health/gpu_fault.h"

#include "worker/health/failure.h"

enum { GPU_FAULT_ON_MS = 60000, GPU_FAULT_ON_SECONDS = 10 };

void gpu_fault_fini(struct gpu_fault *fault)
{
    json_decref(fault->failure);
    *fault = (struct gpu_fault){0};
}

void gpu_fault_hear(struct gpu_fault *fault, const struct assignment *assignment, const char *line,
                    int64_t now_ms)
{
    if (fault->failure)
        return;
    fault->failure = failure_look_at(assignment, line);
    fault->heard_ms = now_ms;
    fault->seconds = 0;
}

void gpu_fault_look(struct gpu_fault *fault, uint64_t printed, int64_t now_ms)
{
    bool has_printed = printed != fault->printed;
    fault->printed = printed;
    bool is_on = fault->failure && has_printed && now_ms - fault->heard_ms > GPU_FAULT_ON_MS &&
                 now_ms / 1000 != fault->second;
    if (!is_on)
        return;
    fault->second = now_ms / 1000;
    if (++fault->seconds >= GPU_FAULT_ON_SECONDS)
        gpu_fault_fini(fault);
}

json_t *gpu_fault_or(const struct gpu_fault *fault, const struct assignment *assignment,
                     json_t *failure)
{
    return failure_is_better(assignment, fault->failure, failure) ? fault->failure : failure;
}
