/* Copies from each GPU to each other GPU, one pair at a time. The receiver reads, as in
 * nvbandwidth's device_to_device_memcpy_read_ce. The data that arrives must be the sender's
 * stream. */
#include "worker/preflight/gpu/bench.h"
#include "worker/preflight/gpu/kernels.h"

#include <cuda_runtime_api.h>

enum { ROUNDS = 8, SEED = 500 };

struct peer {
    void *own, *received;
};

/* Without a direct way the copies go through the host. That is slow, and the figure shows it. */
static int open_way(struct bench *bench, unsigned from, unsigned to)
{
    int is_direct = 0;
    if (bench_check(bench, to, cudaDeviceCanAccessPeer(&is_direct, (int)to, (int)from),
                    "asking for a way to another GPU") < 0)
        return -1;
    if (!is_direct)
        return 0;
    return bench_check(bench, to, cudaDeviceEnablePeerAccess((int)from, 0),
                       "opening a way to another GPU");
}

static int measure_pair(struct bench *bench, const struct peer *peers, unsigned from, unsigned to)
{
    struct bench_device *own = &bench->devices[to];
    size_t bytes = (size_t)bench->size << 20, words = bytes / sizeof(uint64_t);
    double seconds;
    if (bench_choose(bench, to) < 0 || open_way(bench, from, to) < 0 ||
        bench_reset_counter(bench, to) < 0 ||
        bench_check(bench, to, cudaMemsetAsync(peers[to].received, 0, bytes, own->stream),
                    "clearing memory") < 0)
        return -1;
    for (int i = -1; i < ROUNDS; i++)
        if ((i == 0 && bench_mark_begin(bench, to) < 0) ||
            bench_check(bench, to,
                        cudaMemcpyPeerAsync(peers[to].received, (int)to, peers[from].own, (int)from,
                                            bytes, own->stream),
                        "copying from another GPU") < 0)
            return -1;
    if (bench_mark_end(bench, to) < 0 ||
        bench_check(
            bench, to,
            kernels_count_words(peers[to].received, words, SEED + from, own->counter, own->stream),
            "comparing memory") < 0 ||
        bench_fetch_counter(bench, to) < 0 ||
        bench_wait(bench, to, "copying from another GPU") < 0 ||
        bench_seconds(bench, to, &seconds) < 0)
        return -1;
    bench_tell_figure(bench, FIGURE_PEER, from, to, (double)bytes * ROUNDS / seconds / 1e9);
    if (*own->counter_here)
        bench_tell_wrong(bench, from, to, "%llu of %zu words arrived wrong", *own->counter_here,
                         words);
    return 0;
}

int peers_measure(struct bench *bench)
{
    struct peer peers[FACTS_GPUS_MAX];
    size_t bytes = (size_t)bench->size << 20;
    for (unsigned i = 0; i < bench->device_count; i++)
        if (bench_choose(bench, i) < 0 || bench_allocate(bench, i, bytes, &peers[i].own) < 0 ||
            bench_allocate(bench, i, bytes, &peers[i].received) < 0 ||
            bench_check(bench, i,
                        kernels_fill_words(peers[i].own, bytes / sizeof(uint64_t), SEED + i,
                                           bench->devices[i].stream),
                        "filling memory") < 0 ||
            bench_wait(bench, i, "filling memory") < 0)
            return -1;
    for (unsigned to = 0; to < bench->device_count; to++)
        for (unsigned from = 0; from < bench->device_count; from++)
            if (from != to && measure_pair(bench, peers, from, to) < 0)
                return -1;
    return 0;
}
