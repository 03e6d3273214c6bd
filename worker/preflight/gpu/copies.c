/* Copies between the host's pinned memory and each GPU. The GPUs take turns, because they share the
 * way to the processors. After both directions the data must be unchanged. */
#include "worker/preflight/gpu/bench.h"
#include "worker/preflight/gpu/kernels.h"
#include "worker/preflight/gpu/nearby.h"

#include <cuda_runtime_api.h>

enum { ROUNDS = 10, SEED = 300 };

/* Copies once without measuring, and then ROUNDS times with it. */
static int copy(struct bench *bench, unsigned device, enum figure figure, void *to,
                const void *from, size_t bytes)
{
    struct CUstream_st *stream = bench->devices[device].stream;
    enum cudaMemcpyKind kind =
        figure == FIGURE_HOST_TO_DEVICE ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    double seconds;
    for (int i = -1; i < ROUNDS; i++)
        if ((i == 0 && bench_mark_begin(bench, device) < 0) ||
            bench_check(bench, device, cudaMemcpyAsync(to, from, bytes, kind, stream),
                        figure_kinds[figure].label) < 0)
            return -1;
    if (bench_mark_end(bench, device) < 0 ||
        bench_wait(bench, device, figure_kinds[figure].label) < 0 ||
        bench_seconds(bench, device, &seconds) < 0)
        return -1;
    bench_tell_figure(bench, figure, device, 0, (double)bytes * ROUNDS / seconds / 1e9);
    return 0;
}

static int measure_one(struct bench *bench, unsigned device)
{
    struct bench_device *own = &bench->devices[device];
    size_t bytes = (size_t)bench->size << 20, words = bytes / sizeof(uint64_t);
    char address[32] = "";
    void *memory, *host = NULL;
    if (bench_choose(bench, device) < 0 ||
        bench_check(bench, device, cudaDeviceGetPCIBusId(address, sizeof address, (int)device),
                    "finding it on the bus") < 0)
        return -1;
    (void)nearby_go(address); /* if that is not allowed, the figure shows it */
    if (bench_allocate(bench, device, bytes, &memory) < 0 ||
        bench_check(bench, device, cudaHostAlloc(&host, bytes, cudaHostAllocDefault),
                    "pinning memory of the node") < 0 ||
        bench_check(bench, device, kernels_fill_words(memory, words, SEED + device, own->stream),
                    "filling memory") < 0 ||
        copy(bench, device, FIGURE_DEVICE_TO_HOST, host, memory, bytes) < 0 ||
        bench_check(bench, device, cudaMemsetAsync(memory, 0, bytes, own->stream),
                    "clearing memory") < 0 ||
        copy(bench, device, FIGURE_HOST_TO_DEVICE, memory, host, bytes) < 0 ||
        bench_reset_counter(bench, device) < 0 ||
        bench_check(bench, device,
                    kernels_count_words(memory, words, SEED + device, own->counter, own->stream),
                    "comparing memory") < 0 ||
        bench_fetch_counter(bench, device) < 0 || bench_wait(bench, device, "comparing memory") < 0)
        return -1;
    if (*own->counter_here)
        bench_tell_wrong(bench, device, 0, "%llu of %zu words came back wrong", *own->counter_here,
                         words);
    /* The next GPU may be near other processors, and so near other memory. */
    return bench_check(bench, device, cudaFreeHost(host), "giving memory back");
}

int copies_measure(struct bench *bench)
{
    for (unsigned i = 0; i < bench->device_count; i++)
        if (measure_one(bench, i) < 0)
            return -1;
    return 0;
}
