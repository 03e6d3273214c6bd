/* Memory, copies, waiting, and the first failure. */
#include "worker/model/cuda/backend.h"

#include "lib/clock.h"

#include <cuda_runtime_api.h>

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
    SPINS = 2000,     /* so often a stream is asked without a pause: decoding waits per token */
    PAUSE_NS = 50000, /* between two questions after that */
    WIDTH_STEP = 8,   /* sizes are multiples of that, so that every access moves 16 bytes */
    HEAD_STEP = 16,   /* the two halves of a head are turned against each other */
    HEAD_WIDTH_MAX = 256,
};

void backend_fail(struct kernels *kernels, const struct error *err)
{
    if (!kernels->is_failed)
        kernels->failure = *err;
    kernels->is_failed = true;
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

int backend_wait(struct kernels *kernels, struct CUstream_st *stream, int64_t deadline_ms,
                 int (*look)(struct kernels *kernels, struct error *err), struct error *err)
{
    const struct timespec moment = {.tv_nsec = PAUSE_NS};
    for (unsigned turn = 0;; turn++) {
        cudaError_t code = cudaStreamQuery(stream);
        if (code == cudaSuccess)
            return 0;
        if (code != cudaErrorNotReady)
            return error_set(err, -EIO, "GPU %d: computing: %s", kernels->device,
                             cudaGetErrorString(code));
        (void)cudaGetLastError(); /* "not ready" must not look like an error of the next call */
        if (turn < SPINS)
            continue;
        int result = look ? look(kernels, err) : 0;
        if (result < 0)
            return result;
        if (clock_steady_ms() >= deadline_ms)
            return error_set(err, -ETIMEDOUT, "GPU %d: computing: not done in time",
                             kernels->device);
        (void)nanosleep(&moment, NULL); /* a shorter pause after a signal is fine */
    }
}

int kernels_status(struct kernels *kernels, struct error *err)
{
    struct error late;
    if (!kernels->is_failed && backend_wait(kernels, kernels->stream,
                                            clock_steady_ms() + BACKEND_WAIT_MS, NULL, &late) < 0)
        backend_fail(kernels, &late);
    if (kernels->is_failed && err)
        *err = kernels->failure;
    return kernels->is_failed ? kernels->failure.code : 0;
}

void *kernels_memory(struct kernels *kernels, size_t bytes)
{
    void *memory = NULL;
    struct error err;
    if (kernels->is_failed)
        return NULL;
    cudaError_t code = cudaMalloc(&memory, bytes ? bytes : 1);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        (void)error_set(&err, -ENOMEM, "GPU %d has no %zu MiB of free memory", kernels->device,
                        bytes >> 20);
        backend_fail(kernels, &err);
        return NULL;
    }
    if (!backend_check(kernels, code, "allocating memory"))
        return NULL;
    kernels_clear(kernels, memory, bytes);
    return memory;
}

/* cudaFree() waits for the whole GPU. After a failure the GPU may hang, so the memory is left to
 * the end of the process. */
void kernels_release(struct kernels *kernels, void *memory)
{
    if (!kernels->is_failed)
        (void)cudaFree(memory); /* earlier errors come here, too; kernels_status() tells them */
}

void kernels_clear(struct kernels *kernels, void *memory, size_t bytes)
{
    if (!kernels->is_failed)
        (void)backend_check(kernels, cudaMemsetAsync(memory, 0, bytes, kernels->stream),
                            "clearing memory");
}

/* CUDA copies pageable memory into a buffer of its own before the call returns. */
void kernels_put(struct kernels *kernels, void *to_backend, const void *from_host, size_t bytes)
{
    if (!kernels->is_failed)
        (void)backend_check(
            kernels,
            cudaMemcpyAsync(to_backend, from_host, bytes, cudaMemcpyHostToDevice, kernels->stream),
            "copying to the GPU");
}

/* CUDA copies into pageable memory before the call returns, and waits without a deadline. So the
 * kernels are awaited first. */
void kernels_get(struct kernels *kernels, void *to_host, const void *from_backend, size_t bytes)
{
    if (kernels_status(kernels, NULL) == 0 &&
        backend_check(
            kernels,
            cudaMemcpyAsync(to_host, from_backend, bytes, cudaMemcpyDeviceToHost, kernels->stream),
            "copying from the GPU") &&
        kernels_status(kernels, NULL) == 0)
        return;
    memset(to_host, 0, bytes);
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
        int result = check_size(sizes[i].name, sizes[i].size, sizes[i].step, err);
        if (result < 0)
            return result;
    }
    if (needs->head_width > HEAD_WIDTH_MAX)
        return error_set(err, -ERANGE, "a GPU needs a head width of at most %d, not %zu",
                         HEAD_WIDTH_MAX, needs->head_width);
    return 0;
}
