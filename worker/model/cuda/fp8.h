/* Products of training with factors of 8 bits (fp8.c), and the kernels for them (fp8_casts.cu). */
#ifndef PHASED_WORKER_MODEL_CUDA_FP8_H
#define PHASED_WORKER_MODEL_CUDA_FP8_H

#include "worker/model/cuda/backend.h"
#include "worker/model/cuda/fp8_bodies.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether fp8_product() can multiply such matrices. */
bool fp8_fits(const struct kernels *kernels, size_t rows, size_t in, size_t out);

/* y[rows x out] = x[rows x in] w for FP8_E4M3, or y[rows x in] = x[rows x out] w^T for FP8_E5M2,
 * which is for gradients. w[in x out] is a matrix of weights. */
void fp8_product(struct kernels *kernels, uint16_t *y, const uint16_t *x, const uint16_t *w,
                 size_t rows, size_t in, size_t out, enum fp8_kind kind);

/* Finds the largest magnitude of x[count]. The parts stay in kernels->parts for the casts that
 * follow. Returns how many parts there are. */
size_t fp8_largest(struct kernels *kernels, const uint16_t *x, size_t count);
/* to[count] = x, scaled; x is `to` times *ret_scale. */
void fp8_cast(struct kernels *kernels, uint8_t *to, float *ret_scale, const uint16_t *x,
              size_t count, size_t part_count, enum fp8_kind kind);
/* to[columns x rows] = the transpose of x[rows x columns], scaled in the same way. */
void fp8_cast_turned(struct kernels *kernels, uint8_t *to, const uint16_t *x, size_t rows,
                     size_t columns, size_t part_count, enum fp8_kind kind);

#ifdef __cplusplus
}
#endif

#endif
