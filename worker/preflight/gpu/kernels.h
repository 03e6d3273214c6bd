/* The kernels of the full level, for C.
 *
 * Each call queues one kernel on `stream`, which belongs to the current device. It returns CUDA's
 * error of the launch as a number; 0: no error. Pointers are those of the device. Kernels add to
 * counters and never set them. worker/preflight/reference.h has what each kernel must compute.
 *
 * Counts are words of 8 elements, unless another unit is named, so that every access has the best
 * width for the memory. */
#ifndef PHASED_WORKER_PREFLIGHT_GPU_KERNELS_H
#define PHASED_WORKER_PREFLIGHT_GPU_KERNELS_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;

#ifdef __cplusplus
extern "C" {
#endif

/* Fill a buffer with the stream `seed`: as words, as floats, as bfloat16 of the elements / 128. */
unsigned kernels_fill_words(uint64_t *words, size_t count, uint64_t seed,
                            struct CUstream_st *stream);
unsigned kernels_fill_floats(float *floats, size_t count, uint64_t seed,
                             struct CUstream_st *stream);
unsigned kernels_fill_bfloats(uint16_t *bfloats, size_t count, uint64_t seed,
                              struct CUstream_st *stream);

/* Counts the words that are not those of the stream `seed`. */
unsigned kernels_count_words(const uint64_t *words, size_t count, uint64_t seed,
                             unsigned long long *wrong, struct CUstream_st *stream);

/* Counts the floats that are not the sums of the streams `seed` to `seed` + `ranks` - 1. */
unsigned kernels_count_sums(const float *floats, size_t count, uint64_t seed, unsigned ranks,
                            unsigned long long *wrong, struct CUstream_st *stream);

/* Adds the checksum of the words. */
unsigned kernels_checksum(const uint64_t *words, size_t count, unsigned long long *sum,
                          struct CUstream_st *stream);

/* The kernels that measure the memory's bandwidth: to = from, and sums = a + scale * b. */
unsigned kernels_copy(uint64_t *to, const uint64_t *from, size_t count, struct CUstream_st *stream);
unsigned kernels_triad(float *sums, const float *a, const float *b, float scale, size_t count,
                       struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
