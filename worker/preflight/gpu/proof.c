/* Runs each kernel on each GPU, once with little data, and compares it with the reference in C. If
 * a kernel computes something else, no figure means anything: the kernels that fill and the kernels
 * that compare would only agree with each other. */
#include "worker/preflight/gpu/bench.h"
#include "worker/preflight/gpu/kernels.h"
#include "worker/preflight/reference.h"

#include <cuda_runtime_api.h>

enum { WORDS = 4096, ELEMENTS = WORDS * 8, SEED = 40 };

struct proof {
    struct bench *bench;
    unsigned device;
    void *a, *b, *c; /* of ELEMENTS floats each, on the device */
    void *here;      /* the same size, on the host */
};

/* Reads `bytes` of the device's memory, after all queued work. */
static int fetch(const struct proof *proof, const void *from, size_t bytes)
{
    struct bench *bench = proof->bench;
    if (bench_check(bench, proof->device,
                    cudaMemcpyAsync(proof->here, from, bytes, cudaMemcpyDeviceToHost,
                                    bench->devices[proof->device].stream),
                    "trying the kernels") < 0)
        return -1;
    return bench_wait(bench, proof->device, "trying the kernels");
}

static int launched(const struct proof *proof, unsigned code)
{
    return bench_check(proof->bench, proof->device, code, "trying the kernels");
}

/* The functions below return how many values are wrong, or -1. */

static int wrong_words(const struct proof *proof, const void *words, uint64_t seed)
{
    const uint64_t *got = proof->here;
    int wrong = 0;
    if (fetch(proof, words, WORDS * sizeof *got) < 0)
        return -1;
    for (uint64_t i = 0; i < WORDS; i++)
        wrong += got[i] != reference_word(seed, i);
    return wrong;
}

static int try_fill_words(const struct proof *proof, struct bench_device *own)
{
    if (launched(proof, kernels_fill_words(proof->a, WORDS, SEED, own->stream)) < 0)
        return -1;
    return wrong_words(proof, proof->a, SEED);
}

static int try_copy(const struct proof *proof, struct bench_device *own)
{
    if (launched(proof, kernels_fill_words(proof->c, WORDS, SEED + 1, own->stream)) < 0 ||
        launched(proof, kernels_copy(proof->c, proof->a, WORDS, own->stream)) < 0)
        return -1;
    return wrong_words(proof, proof->c, SEED);
}

static int try_checksum(const struct proof *proof, struct bench_device *own)
{
    struct bench *bench = proof->bench;
    if (bench_reset_counter(bench, proof->device) < 0 ||
        launched(proof, kernels_checksum(proof->a, WORDS, own->counter, own->stream)) < 0 ||
        bench_fetch_counter(bench, proof->device) < 0 ||
        fetch(proof, proof->a, WORDS * sizeof(uint64_t)) < 0)
        return -1;
    return *own->counter_here != reference_checksum(proof->here, WORDS);
}

/* With its own stream no word is wrong; with another stream all are. */
static int try_count_words(const struct proof *proof, struct bench_device *own)
{
    struct bench *bench = proof->bench;
    if (bench_reset_counter(bench, proof->device) < 0 ||
        launched(proof, kernels_count_words(proof->a, WORDS, SEED, own->counter, own->stream)) <
            0 ||
        launched(proof, kernels_count_words(proof->a, WORDS, SEED + 1, own->counter, own->stream)) <
            0 ||
        bench_fetch_counter(bench, proof->device) < 0 ||
        bench_wait(bench, proof->device, "trying the kernels") < 0)
        return -1;
    return *own->counter_here != WORDS;
}

static int try_fill_floats(const struct proof *proof, struct bench_device *own)
{
    const float *got = proof->here;
    int wrong = 0;
    if (launched(proof, kernels_fill_floats(proof->a, WORDS, SEED, own->stream)) < 0 ||
        fetch(proof, proof->a, ELEMENTS * sizeof *got) < 0)
        return -1;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        wrong += got[i] != (float)reference_element(SEED, i);
    return wrong;
}

/* The scale is not 1, because that would not test the product. */
static int try_triad(const struct proof *proof, struct bench_device *own)
{
    const float *got = proof->here;
    int wrong = 0;
    if (launched(proof, kernels_fill_floats(proof->b, WORDS, SEED + 1, own->stream)) < 0 ||
        launched(proof, kernels_triad(proof->c, proof->a, proof->b, 3, WORDS, own->stream)) < 0 ||
        fetch(proof, proof->c, ELEMENTS * sizeof *got) < 0)
        return -1;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        wrong += got[i] != (float)(reference_element(SEED, i) + 3 * reference_element(SEED + 1, i));
    return wrong;
}

/* The buffer has sums of two streams. So no float is wrong as a sum of two streams. As a sum of
 * three streams every float is wrong, except where the third stream is 0. */
static int try_count_sums(const struct proof *proof, struct bench_device *own)
{
    struct bench *bench = proof->bench;
    unsigned long long unlike = 0;
    if (launched(proof, kernels_triad(proof->c, proof->a, proof->b, 1, WORDS, own->stream)) < 0 ||
        bench_reset_counter(bench, proof->device) < 0 ||
        launched(proof, kernels_count_sums(proof->c, WORDS, SEED, 2, own->counter, own->stream)) <
            0 ||
        launched(proof, kernels_count_sums(proof->c, WORDS, SEED, 3, own->counter, own->stream)) <
            0 ||
        bench_fetch_counter(bench, proof->device) < 0 ||
        bench_wait(bench, proof->device, "trying the kernels") < 0)
        return -1;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        unlike += reference_sum(SEED, 2, i) != reference_sum(SEED, 3, i);
    return *own->counter_here != unlike;
}

static int try_fill_bfloats(const struct proof *proof, struct bench_device *own)
{
    const uint16_t *got = proof->here;
    int wrong = 0;
    if (launched(proof, kernels_fill_bfloats(proof->a, WORDS, SEED, own->stream)) < 0 ||
        fetch(proof, proof->a, ELEMENTS * sizeof *got) < 0)
        return -1;
    for (uint64_t i = 0; i < ELEMENTS; i++)
        wrong += got[i] != reference_bfloat(reference_element(SEED, i));
    return wrong;
}

static int prove_device(struct proof *proof)
{
    /* The order matters: each test uses the data that earlier tests have left and proved. */
    static const struct {
        const char *name;
        int (*act)(const struct proof *proof, struct bench_device *own);
    } kernels[] = {
        {"fill_words", try_fill_words},   {"copy", try_copy},
        {"checksum", try_checksum},       {"count_words", try_count_words},
        {"fill_floats", try_fill_floats}, {"triad", try_triad},
        {"count_sums", try_count_sums},   {"fill_bfloats", try_fill_bfloats},
    };
    struct bench *bench = proof->bench;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        int wrong = kernels[i].act(proof, &bench->devices[proof->device]);
        if (wrong > 0)
            bench_tell_wrong(bench, proof->device, 0, "kernel %s computes a wrong result",
                             kernels[i].name);
        if (wrong != 0)
            return -1;
    }
    return 0;
}

int proof_make(struct bench *bench)
{
    enum { BYTES = ELEMENTS * sizeof(float) };
    for (unsigned i = 0; i < bench->device_count; i++) {
        struct proof proof = {.bench = bench, .device = i};
        if (bench_choose(bench, i) < 0 || bench_allocate(bench, i, BYTES, &proof.a) < 0 ||
            bench_allocate(bench, i, BYTES, &proof.b) < 0 ||
            bench_allocate(bench, i, BYTES, &proof.c) < 0 ||
            bench_check(bench, i, cudaHostAlloc(&proof.here, BYTES, cudaHostAllocDefault),
                        "pinning memory of the node") < 0 ||
            prove_device(&proof) < 0)
            return -1;
    }
    return 0;
}
