/* Lets kernels.cu be compiled as C++ for a processor: a launch is a loop over a small grid, thread
 * by thread. This shows what a kernel computes, but not the races on a GPU. It is included before
 * the text of that file. */
#ifndef PHASED_TESTS_FAKE_SERIAL_CUH
#define PHASED_TESTS_FAKE_SERIAL_CUH

#include <new>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <vector_types.h>

static struct {
    unsigned x;
} gridDim = {3}, blockDim = {5}, blockIdx, threadIdx;

static inline void atomicAdd(unsigned long long *counter, unsigned long long count)
{
    *counter += count;
}

/* Queues one kernel: calls `run` with `body` once, or never, or in each launch of a graph. Takes
 * `body`, which is freed then. Returns CUDA's error. */
extern "C" unsigned serial_queue(struct CUstream_st *stream, const char *kernel,
                                 void (*run)(void *body), void *body);

template <typename Body> static void serial_run(void *body)
{
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            (*(Body *)body)();
}

/* The arguments are copied, as in a launch. */
template <typename Body>
static unsigned serial_launch(struct CUstream_st *stream, const char *kernel, Body body)
{
    void *kept = malloc(sizeof body);
    if (!kept)
        abort();
    return serial_queue(stream, kernel, serial_run<Body>, new (kept) Body(body));
}

#define KERNELS_LAUNCH(kernel, stream, ...)                                                        \
    serial_launch(stream, #kernel, [=] { kernel(__VA_ARGS__); })

#endif
