/* Lets kernels.cu be compiled as C++ for a processor: a launch is a loop over a small grid, thread
 * by thread. That shows what a kernel computes, not how a GPU would race through it. Included
 * before the file's own text. */
#ifndef PHASED_TESTS_FAKE_SERIAL_CUH
#define PHASED_TESTS_FAKE_SERIAL_CUH

#include <stddef.h>
#include <stdint.h>

#include <vector_types.h>

static struct {
    unsigned x;
} gridDim = {3}, blockDim = {5}, blockIdx, threadIdx;

static inline void atomicAdd(unsigned long long *counter, unsigned long long count)
{
    *counter += count;
}

/* Whether the GPU that is current runs this kernel; a broken one may be told to lose some. */
extern "C" int serial_runs(const char *kernel);

template <typename Body> static int serial_launch(const char *kernel, Body body)
{
    if (!serial_runs(kernel))
        return 0;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            body();
    return 0;
}

#define KERNELS_LAUNCH(kernel, stream, ...)                                                        \
    ((void)(stream), serial_launch(#kernel, [&] { kernel(__VA_ARGS__); }))

#endif
