/* Memory of the GPU, copies, and how the host waits.
 *
 * The host waits for a copy from ordinary memory. So each copy to the GPU goes through a ring of
 * pieces of pinned memory, and an event behind the copy tells when its piece is free again. The
 * host waits only if the GPU has not yet done the copy of PIECES pieces ago. So the ring also
 * limits how far the host is ahead of the GPU. */
#include "worker/model/cuda/backend.h"

#include "lib/clock.h"
#include "lib/memory.h"

#include <cuda_runtime_api.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PIECES = 8,         /* a training puts two for each batch: the host is 4 batches ahead */
    PIECE = 256 * 1024, /* bytes: the ids of 64 Ki tokens */
    PAUSE_NS = 50000,   /* between two questions of a long wait */
};

struct puts {
    char *memory;             /* PIECES * PIECE bytes, pinned */
    cudaEvent_t done[PIECES]; /* the copy from the piece is done */
    unsigned next;            /* piece of the next copy */
    unsigned busy;            /* so many pieces before `next` were not seen free */
};

int memory_open(struct kernels *kernels, struct error *err)
{
    struct puts *puts = xcalloc(1, sizeof *puts);
    void *memory = NULL;
    kernels->puts = puts;
    cudaError_t code = cudaHostAlloc(&memory, (size_t)PIECES * PIECE, cudaHostAllocDefault);
    puts->memory = memory;
    for (unsigned i = 0; i < PIECES && code == cudaSuccess; i++)
        code = cudaEventCreateWithFlags(&puts->done[i], cudaEventDisableTiming);
    if (code == cudaSuccess)
        return 0;
    return error_set(err, code == cudaErrorMemoryAllocation ? -ENOMEM : -EIO,
                     "GPU %d: making %d MiB of pinned memory: %s", kernels->device,
                     PIECES * PIECE >> 20, cudaGetErrorString(code));
}

void memory_close(struct kernels *kernels)
{
    struct puts *puts = kernels->puts;
    if (!puts)
        return;
    for (unsigned i = 0; i < PIECES && puts->done[i]; i++)
        (void)cudaEventDestroy(puts->done[i]); /* the process ends soon */
    if (puts->memory)
        (void)cudaFreeHost(puts->memory); /* the same */
    free(puts);
    kernels->puts = NULL;
}

static cudaEvent_t oldest(const struct puts *puts)
{
    return puts->done[(puts->next + PIECES - puts->busy) % PIECES];
}

/* Returns whether the GPU has done some copy to it since the last call. Does not wait. */
static bool advance(struct kernels *kernels)
{
    struct puts *puts = kernels->puts;
    unsigned busy = puts->busy;
    while (puts->busy > 0 && cudaEventQuery(oldest(puts)) == cudaSuccess)
        puts->busy--;
    (void)cudaGetLastError(); /* "not ready"; a real failure comes again at the next call */
    return puts->busy < busy;
}

/* Returns 1 for done, 0 for not yet, or a negative errno. */
static int is_done(struct kernels *kernels, cudaEvent_t event, struct error *err)
{
    cudaError_t code = event ? cudaEventQuery(event) : cudaStreamQuery(kernels->stream);
    if (code == cudaSuccess)
        return 1;
    if (code != cudaErrorNotReady)
        return error_set(err, -EIO, "GPU %d: computing: %s", kernels->device,
                         cudaGetErrorString(code));
    (void)cudaGetLastError(); /* "not ready" must not look like an error of the next call */
    return 0;
}

/* Waits for the event, or for all kernels if `event` is NULL. The GPU may take any time for what is
 * queued, as long as it shows progress: each copy to the GPU that is done begins a new deadline.
 * Returns -ETIMEDOUT after the deadline. If ranks add, the message names a rank that is gone or
 * behind. */
static int wait_for(struct kernels *kernels, cudaEvent_t event, struct error *err)
{
    const struct timespec moment = {.tv_nsec = PAUSE_NS};
    int64_t deadline_ms = clock_steady_ms() + sums_patience_ms(kernels);
    double began_s = clock_steady_s();
    int status;
    while ((status = is_done(kernels, event, err)) == 0) {
        if (backend_asks_again(began_s))
            continue;
        status = sums_look(kernels, err);
        if (status < 0)
            break;
        if (advance(kernels))
            deadline_ms = clock_steady_ms() + sums_patience_ms(kernels);
        if (clock_steady_ms() >= deadline_ms)
            return sums_say_late(kernels, err);
        (void)nanosleep(&moment, NULL); /* a shorter pause after a signal is fine */
    }
    return status < 0 ? status : 0;
}

int kernels_status(struct kernels *kernels, struct error *err)
{
    struct error late;
    if (!kernels->is_failed && wait_for(kernels, NULL, &late) < 0)
        backend_fail(kernels, &late);
    return backend_failure(kernels, err);
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

/* cudaFree() waits for the whole GPU, without a deadline, so the kernels are awaited first. After a
 * failure the GPU may hang, so the memory is left to the end of the process. */
void kernels_release(struct kernels *kernels, void *memory)
{
    if (memory && kernels_status(kernels, NULL) == 0)
        (void)cudaFree(memory); /* earlier errors come here, too; kernels_status() tells them */
}

size_t kernels_memory_used(struct kernels *kernels)
{
    size_t unused, all;
    if (kernels->is_failed || cudaMemGetInfo(&unused, &all) != cudaSuccess) {
        (void)cudaGetLastError(); /* it must not look like an error of the next call */
        return 0;
    }
    return all - unused;
}

/* Copies to pinned memory go at the full rate of the bus. */
void *kernels_host_memory(struct kernels *kernels, size_t bytes)
{
    void *memory = NULL;
    if (kernels->is_failed)
        return NULL;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocDefault) == cudaSuccess)
        return memory;
    (void)cudaGetLastError(); /* the lack must not look like an error of the next call */
    return NULL;
}

void kernels_release_host(struct kernels *kernels, void *memory)
{
    if (memory && kernels_status(kernels, NULL) == 0)
        (void)cudaFreeHost(memory); /* as in kernels_release() */
}

void kernels_clear(struct kernels *kernels, void *memory, size_t bytes)
{
    if (!kernels->is_failed)
        (void)backend_check(kernels, cudaMemsetAsync(memory, 0, bytes, kernels->stream),
                            "clearing memory");
}

/* Returns a free piece. */
static char *take_piece(struct kernels *kernels)
{
    struct puts *puts = kernels->puts;
    struct error err;
    if (puts->busy == PIECES && !advance(kernels) && wait_for(kernels, oldest(puts), &err) < 0) {
        backend_fail(kernels, &err);
        return NULL;
    }
    if (puts->busy == PIECES)
        puts->busy--; /* the wait was for that piece */
    puts->busy++;
    return puts->memory + (size_t)PIECE * puts->next;
}

void kernels_put(struct kernels *kernels, void *to_backend, const void *from_host, size_t bytes)
{
    struct puts *puts = kernels->puts;
    for (size_t done = 0; done < bytes && !kernels->is_failed; done += PIECE) {
        size_t size = bytes - done < PIECE ? bytes - done : PIECE;
        char *piece = take_piece(kernels);
        if (!piece)
            return;
        memcpy(piece, (const char *)from_host + done, size);
        (void)(backend_check(kernels,
                             cudaMemcpyAsync((char *)to_backend + done, piece, size,
                                             cudaMemcpyHostToDevice, kernels->stream),
                             "copying to the GPU") &&
               backend_check(kernels, cudaEventRecord(puts->done[puts->next], kernels->stream),
                             "marking"));
        puts->next = (puts->next + 1) % PIECES;
    }
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
