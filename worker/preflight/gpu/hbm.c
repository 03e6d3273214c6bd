/* The rate of the GPU's memory: a copy and a triad on all GPUs at once, and whether the results are
 * right. This is the first row, so it also proves the kernels. */
#include "worker/preflight/gpu/bench.h"
#include "worker/preflight/gpu/kernels.h"

enum { ROUNDS = 40, SEED = 100 }; /* any number; each GPU has streams of its own from there */

struct hbm {
    void *a, *b, *c; /* buffers of `words` words of 8 floats each, or of as many bytes */
    size_t floats;   /* in words of 8 floats */
    size_t words;
};

static uint64_t seed_of(unsigned device)
{
    return SEED + 2 * (uint64_t)device;
}

/* Queues the fills, one run that does not count, the runs that count, and the comparison. */
static int begin_copy(struct bench *bench, unsigned device, const struct hbm *hbm)
{
    struct bench_device *own = &bench->devices[device];
    uint64_t seed = seed_of(device);
    if (bench_choose(bench, device) < 0 || bench_reset_counter(bench, device) < 0 ||
        bench_check(bench, device, kernels_fill_words(hbm->a, hbm->words, seed, own->stream),
                    "filling memory") < 0)
        return -1;
    for (int i = -1; i < ROUNDS; i++)
        if ((i == 0 && bench_mark_begin(bench, device) < 0) ||
            bench_check(bench, device, kernels_copy(hbm->c, hbm->a, hbm->words, own->stream),
                        "copying memory") < 0)
            return -1;
    if (bench_mark_end(bench, device) < 0 ||
        bench_check(bench, device,
                    kernels_count_words(hbm->c, hbm->words, seed, own->counter, own->stream),
                    "comparing memory") < 0)
        return -1;
    return bench_fetch_counter(bench, device);
}

static int begin_triad(struct bench *bench, unsigned device, const struct hbm *hbm)
{
    struct bench_device *own = &bench->devices[device];
    uint64_t seed = seed_of(device);
    if (bench_choose(bench, device) < 0 || bench_reset_counter(bench, device) < 0 ||
        bench_check(bench, device, kernels_fill_floats(hbm->a, hbm->floats, seed, own->stream),
                    "filling memory") < 0 ||
        bench_check(bench, device, kernels_fill_floats(hbm->b, hbm->floats, seed + 1, own->stream),
                    "filling memory") < 0)
        return -1;
    for (int i = -1; i < ROUNDS; i++)
        if ((i == 0 && bench_mark_begin(bench, device) < 0) ||
            bench_check(bench, device,
                        kernels_triad(hbm->c, hbm->a, hbm->b, 1, hbm->floats, own->stream),
                        "adding memory") < 0)
            return -1;
    if (bench_mark_end(bench, device) < 0 ||
        bench_check(bench, device,
                    kernels_count_sums(hbm->c, hbm->floats, seed, 2, own->counter, own->stream),
                    "comparing memory") < 0)
        return -1;
    return bench_fetch_counter(bench, device);
}

/* `buffers` says how many buffers each round reads or writes. */
static int end(struct bench *bench, unsigned device, enum figure figure, unsigned buffers,
               const struct hbm *hbm)
{
    double seconds;
    double bytes = (double)hbm->words * sizeof(uint64_t);
    if (bench_wait(bench, device, figure_kinds[figure].label) < 0 ||
        bench_seconds(bench, device, &seconds) < 0)
        return -1;
    bench_tell_figure(bench, figure, device, 0, bytes * buffers * ROUNDS / seconds / 1e9);
    if (*bench->devices[device].counter_here)
        bench_tell_wrong(bench, device, 0, "%s: %llu values are wrong", figure_kinds[figure].label,
                         *bench->devices[device].counter_here);
    return 0;
}

int hbm_measure(struct bench *bench)
{
    static const struct {
        enum figure figure;
        unsigned buffers;
        int (*begin)(struct bench *bench, unsigned device, const struct hbm *hbm);
    } parts[] = {{FIGURE_HBM_COPY, 2, begin_copy}, {FIGURE_HBM_TRIAD, 3, begin_triad}};
    struct hbm hbm[FACTS_GPUS_MAX];
    size_t bytes = (size_t)bench->size << 20;
    if (proof_make(bench) < 0)
        return -1;
    for (unsigned i = 0; i < bench->device_count; i++) {
        hbm[i].words = bytes / sizeof(uint64_t);
        hbm[i].floats = bytes / sizeof(float) / 8;
        if (bench_choose(bench, i) < 0 || bench_allocate(bench, i, bytes, &hbm[i].a) < 0 ||
            bench_allocate(bench, i, bytes, &hbm[i].b) < 0 ||
            bench_allocate(bench, i, bytes, &hbm[i].c) < 0)
            return -1;
    }
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
        for (unsigned i = 0; i < bench->device_count; i++)
            if (parts[part].begin(bench, i, &hbm[i]) < 0)
                return -1;
        for (unsigned i = 0; i < bench->device_count; i++)
            if (end(bench, i, parts[part].figure, parts[part].buffers, &hbm[i]) < 0)
                return -1;
    }
    return 0;
}
