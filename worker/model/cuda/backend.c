/* The first failure, and the sizes that the kernels can compute. */
#include "worker/model/cuda/backend.h"

#include "lib/clock.h"

#include <cuda_runtime_api.h>

#include <errno.h>
#include <sched.h>

enum {
    WIDTH_STEP = 8, /* sizes are multiples of that, so that every access moves 16 bytes */
    HEAD_STEP = 16, /* the two halves of a head are turned against each other */
    HEAD_WIDTH_MAX = 256,
    SPIN_MS = 5, /* a step of generation takes a few milliseconds */
};

void backend_fail(struct kernels *kernels, const struct error *err)
{
    if (!kernels->is_failed)
        kernels->failure = *err;
    kernels->is_failed = true;
}

int backend_failure(const struct kernels *kernels, struct error *err)
{
    if (kernels->is_failed && err)
        *err = kernels->failure;
    return kernels->is_failed ? kernels->failure.code : 0;
}

bool backend_check(struct kernels *kernels, unsigned code, const char *doing)
{
    struct error err;
    if (code == cudaSuccess)
        return true;
    (void)error_set(&err, code == cudaErrorMemoryAllocation ? -ENOMEM : -EIO, "GPU %d: %s: %s",
                    kernels->device, doing, cudaGetErrorString((cudaError_t)code));
    backend_fail(kernels, &err);
    return false;
}

bool backend_asks_again(double began_s)
{
    (void)sched_yield(); /* cannot fail on Linux */
    return 1000 * (clock_steady_s() - began_s) < SPIN_MS;
}

void kernels_abandon(struct kernels *kernels, const struct error *err)
{
    backend_fail(kernels, err);
}

static int check_size(const char *name, size_t size, size_t step, struct error *err)
{
    if (size % step == 0 && size > 0)
        return 0;
    return error_set(err, -ERANGE, "a GPU needs a %s that is a multiple of %zu, not %zu", name,
                     step, size);
}

int kernels_check(const struct kernels_needs *needs, struct error *err)
{
    const struct {
        const char *name;
        size_t size, step;
    } sizes[] = {
        {"width", needs->width, WIDTH_STEP},
        {"hidden width", needs->hidden, WIDTH_STEP},
        {"vocabulary", needs->vocabulary, WIDTH_STEP},
        {"head width", needs->head_width, HEAD_STEP},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int status = check_size(sizes[i].name, sizes[i].size, sizes[i].step, err);
        if (status < 0)
            return status;
    }
    if (needs->head_width > HEAD_WIDTH_MAX)
        return error_set(err, -ERANGE, "a GPU needs a head width of at most %d, not %zu",
                         HEAD_WIDTH_MAX, needs->head_width);
    return 0;
}
