/* The kernels of the full level, for C.
 *
 * Each call queues one kernel on `stream`, of the device that is current, and returns CUDA's error
 * of the launch as a number, 0 for none. Pointers are the device's; counts say of what. Counters
 * are added to, never set. What each must compute is in worker/preflight/reference.h.
 *
 * Counts are of words of 8 elements, unless another unit is named: so every access is as wide as
 * the memory likes it. */
#ifndef PHASED_WORKER_PREFLIGHT_GPU_KERNELS_H
#define PHASED_WORKER_PREFLIGHT_GPU_KERNELS_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;

#ifdef __cplusplus
extern "C" {
#endif

/* The stream `seed` as words, as floats, as bfloat16 of the elements / 128. */
unsigned kernels_fill_words(uint64_t *words, size_t count, uint64_t seed,
                            struct CUstream_st *stream);
unsigned kernels_fill_floats(float *floats, size_t count, uint64_t seed,
                             struct CUstream_st *stream);
unsigned kernels_fill_bfloats(uint16_t *bfloats, size_t count, uint64_t seed,
                              struct CUstream_st *stream);

/* Adds how many words are not those of the stream `seed`. */
unsigned kernels_count_words(const uint64_t *words, size_t count, uint64_t seed,
                             unsigned long long *wrong, struct CUstream_st *stream);

/* Adds how many floats are not the sums of the streams `seed` to `seed` + `ranks` - 1. */
unsigned kernels_count_sums(const float *floats, size_t count, uint64_t seed, unsigned ranks,
                            unsigned long long *wrong, struct CUstream_st *stream);

/* Adds the checksum of the words. */
unsigned kernels_checksum(const uint64_t *words, size_t count, unsigned long long *sum,
                          struct CUstream_st *stream);

/* What the memory's bandwidth is measured with: to = from, and sums = a + scale * b. */
unsigned kernels_copy(uint64_t *to, const uint64_t *from, size_t count, struct CUstream_st *stream);
unsigned kernels_triad(float *sums, const float *a, const float *b, float scale, size_t count,
                       struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
