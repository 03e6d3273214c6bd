/* One product of matrices, for the files that make products of their own (products.c). */
#ifndef PHASED_WORKER_MODEL_CUDA_PRODUCTS_H
#define PHASED_WORKER_MODEL_CUDA_PRODUCTS_H

#include "worker/model/kernels.h"

#include <stdbool.h>
#include <stddef.h>

enum product_number { PRODUCT_BF16, PRODUCT_E4M3, PRODUCT_E5M2, PRODUCT_FLOAT };

/* A factor by rows. `is_turned`: the transpose of the factor is what lies in memory. */
struct factor {
    const void *data;
    size_t stride; /* numbers between two rows in memory */
    bool is_turned;
    enum product_number number; /* not PRODUCT_FLOAT */
    const float *scale;         /* on the GPU: the factor is the data times *scale; NULL: times 1 */
};

/* c = a b, or c += a b. c[rows x columns] has numbers of PRODUCT_BF16 or PRODUCT_FLOAT, and its
 * rows are `c_stride` apart. cuBLASLt multiplies numbers of 8 bits only if a lies in memory as it
 * is, b is turned, and all sizes are multiples of 16. */
void products_multiply(struct kernels *kernels, void *c, size_t c_stride, struct factor a,
                       struct factor b, size_t rows, size_t inner, size_t columns,
                       enum product_number number, enum kernel_mode mode);

#endif
