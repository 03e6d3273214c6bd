/* How bodies become kernels: a launch of warps or of blocks, each a team (team.h). A body is given
 * as a function of its team, which keeps copies of the kernel's arguments. */
#ifndef PHASED_WORKER_MODEL_CUDA_LAUNCH_CUH
#define PHASED_WORKER_MODEL_CUDA_LAUNCH_CUH

#include "worker/model/cuda/backend.h"
#include "worker/model/cuda/team.h"

#include <cuda_runtime_api.h>

enum {
    WARP = 32,
    WARP_BLOCK = 256, /* threads in a block of warps */
    BLOCKS_EACH = 16, /* at most so many blocks for each multiprocessor */
};

/* The tests compile the kernels for a processor, where a launch is a loop of the tests. */
#ifdef __CUDACC__
template <typename Body> __global__ void __launch_bounds__(WARP_BLOCK) run_warps(Body body)
{
    struct team team;
    team.index = threadIdx.x % WARP;
    team.size = WARP;
    team.number = ((size_t)blockIdx.x * WARP_BLOCK + threadIdx.x) / WARP;
    team.count = (size_t)gridDim.x * (WARP_BLOCK / WARP);
    team.shared = NULL;
    body(&team);
}

template <int SIZE, typename Body> __global__ void __launch_bounds__(SIZE) run_blocks(Body body)
{
    __shared__ float shared[SIZE];
    struct team team;
    team.index = threadIdx.x;
    team.size = SIZE;
    team.number = blockIdx.x;
    team.count = gridDim.x;
    team.shared = shared;
    body(&team);
}

/* After `<<<>>>` only the last error of the thread is known, which may be that of an earlier call.
 */
template <typename Body>
static unsigned launch_on(struct CUstream_st *stream, size_t blocks, unsigned threads,
                          void (*kernel)(Body), Body body)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3(threads);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, body);
}
#define LAUNCH_WARPS(stream, blocks, body)                                                         \
    launch_on((stream), (blocks), WARP_BLOCK, run_warps<decltype(body)>, (body))
#define LAUNCH_BLOCKS(stream, blocks, size, body)                                                  \
    launch_on((stream), (blocks), (size), run_blocks<(size), decltype(body)>, (body))
#endif

/* Returns the blocks for `wanted` teams, `teams_each` in a block: at least one, and not more than
 * fill the GPU. */
static inline size_t blocks_for(const struct kernels *kernels, size_t wanted, size_t teams_each)
{
    size_t blocks = (wanted + teams_each - 1) / teams_each;
    size_t most = (size_t)kernels->processors * BLOCKS_EACH;
    return blocks < 1 ? 1 : blocks < most ? blocks : most;
}

template <typename Body>
static void launch_threads(struct kernels *kernels, size_t threads, const char *name, Body body)
{
    if (!kernels->is_failed)
        (void)backend_check(
            kernels, LAUNCH_WARPS(kernels->stream, blocks_for(kernels, threads, WARP_BLOCK), body),
            name);
}

template <typename Body>
static void launch_warps(struct kernels *kernels, size_t warps, const char *name, Body body)
{
    launch_threads(kernels, warps * WARP, name, body);
}

/* Queues a body for `blocks` blocks of SIZE threads, or for as many as fill the GPU. */
template <int SIZE, typename Body>
static void launch_blocks(struct kernels *kernels, size_t blocks, const char *name, Body body)
{
    if (!kernels->is_failed)
        (void)backend_check(
            kernels, LAUNCH_BLOCKS(kernels->stream, blocks_for(kernels, blocks, 1), SIZE, body),
            name);
}

#endif
