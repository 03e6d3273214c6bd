/* The products of worker/model/kernels.h: which factors they have, of 16 or of 8 bits. */
#include "worker/model/cuda/backend.h"
#include "worker/model/cuda/fp8.h"
#include "worker/model/cuda/products.h"

static struct factor factor_of(const uint16_t *data, size_t stride, bool is_turned)
{
    return (struct factor){data, stride, is_turned, PRODUCT_BF16, NULL};
}

/* Returns the factor w of `in` rows, or its transpose. */
static struct factor weights(const uint16_t *w, size_t in, size_t out, enum kernel_order order,
                             bool is_transpose)
{
    bool is_by_out = order == KERNEL_OUT_IN;
    return factor_of(w, is_by_out ? in : out, is_by_out != is_transpose);
}

void kernel_matmul(struct kernels *kernels, kernel_number *y, const kernel_number *x,
                   const kernel_number *w, size_t rows, size_t in, size_t out,
                   enum kernel_order order)
{
    if (order == KERNEL_IN_OUT && fp8_fits(kernels, rows, in, out))
        fp8_product(kernels, y, x, w, rows, in, out, FP8_E4M3);
    else
        products_multiply(kernels, y, out, factor_of(x, in, false),
                          weights(w, in, out, order, false), rows, in, out, PRODUCT_BF16,
                          KERNEL_SET);
}

void kernel_matmul_dx(struct kernels *kernels, kernel_number *dx, const kernel_number *dy,
                      const kernel_number *w, size_t rows, size_t in, size_t out,
                      enum kernel_order order)
{
    if (order == KERNEL_IN_OUT && fp8_fits(kernels, rows, in, out))
        fp8_product(kernels, dx, dy, w, rows, in, out, FP8_E5M2);
    else
        products_multiply(kernels, dx, in, factor_of(dy, out, false),
                          weights(w, in, out, order, true), rows, out, in, PRODUCT_BF16,
                          KERNEL_SET);
}

void kernel_matmul_dw(struct kernels *kernels, float *dw, const kernel_number *dy,
                      const kernel_number *x, size_t rows, size_t in, size_t out,
                      enum kernel_order order, enum kernel_mode mode)
{
    if (order == KERNEL_IN_OUT)
        products_multiply(kernels, dw, out, factor_of(x, in, true), factor_of(dy, out, false), in,
                          rows, out, PRODUCT_FLOAT, mode);
    else
        products_multiply(kernels, dw, in, factor_of(dy, out, true), factor_of(x, in, false), out,
                          rows, in, PRODUCT_FLOAT, mode);
}

/* Float sums of a few KiB cost NCCL about the same time as sums of bf16 numbers: its latency. They
 * are rounded once, so the order in which NCCL adds hardly matters. */
void kernel_product_sum(struct kernels *kernels, kernel_number *y, const kernel_number *a,
                        const kernel_number *b, size_t rows, size_t inner, size_t columns,
                        size_t parts)
{
    const struct factor right = factor_of(b, columns, false);
    size_t fitting = BACKEND_PARTS / columns;
    (void)parts; /* the sum has no fixed order */
    if (!kernels->sums) {
        products_multiply(kernels, y, columns, factor_of(a, inner, false), right, rows, inner,
                          columns, PRODUCT_BF16, KERNEL_ADD);
        return;
    }
    for (size_t first = 0; first < rows; first += fitting) {
        size_t count = rows - first < fitting ? rows - first : fitting;
        products_multiply(kernels, kernels->parts, columns,
                          factor_of(a + first * inner, inner, false), right, count, inner, columns,
                          PRODUCT_FLOAT, KERNEL_SET);
        sums_add_up(kernels, kernels->parts, count * columns);
        own_add(kernels, y + first * columns, kernels->parts, count * columns);
    }
}
