/* Products of training with factors of 8 bits: those of the blocks, forward and for the gradients
 * of their inputs. The head, the embedding and the gradients of weights keep factors of 16 bits.
 *
 * Each tensor has one scale, from its largest magnitude. Hopper multiplies such numbers only if
 * both factors lie along the inner dimension. So weights are cast in both orders, once after each
 * update. Activations and gradients are cast for each product. */
#include "worker/model/cuda/fp8.h"

#include "lib/memory.h"
#include "worker/model/cuda/products.h"

#include <cuda_runtime_api.h>

#include <errno.h>
#include <stdlib.h>

enum { OLDEST_MAJOR = 9 };

/* A matrix of weights. */
struct cast {
    const uint16_t *w;
    size_t in, out;
    size_t changes;          /* kernels->changes when it was cast */
    uint8_t *plain, *turned; /* [in x out] and [out x in] */
    float *scale;
};

struct fp8 {
    struct cast *casts;
    size_t count;
    uint8_t *input; /* the other factor of the product that is made */
    size_t input_bytes;
    float *input_scale;
};

int kernels_use_fp8(struct kernels *kernels, struct error *err)
{
    int major = 0;
    if (!backend_check(kernels,
                       (unsigned)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                                        kernels->device),
                       "asking for its architecture"))
        return backend_failure(kernels, err);
    if (major < OLDEST_MAJOR)
        return error_set(err, -ERANGE, "--precision fp8: GPU %d is too old for products of fp8",
                         kernels->device);
    kernels->fp8 = xcalloc(1, sizeof *kernels->fp8);
    kernels->fp8->input_scale = kernels_memory(kernels, sizeof *kernels->fp8->input_scale);
    return kernels_status(kernels, err);
}

void fp8_close(struct kernels *kernels)
{
    struct fp8 *fp8 = kernels->fp8;
    if (!fp8)
        return;
    for (size_t i = 0; i < fp8->count; i++) {
        kernels_release(kernels, fp8->casts[i].plain);
        kernels_release(kernels, fp8->casts[i].turned);
        kernels_release(kernels, fp8->casts[i].scale);
    }
    kernels_release(kernels, fp8->input);
    kernels_release(kernels, fp8->input_scale);
    free(fp8->casts);
    free(fp8);
    kernels->fp8 = NULL;
}

bool fp8_fits(const struct kernels *kernels, size_t rows, size_t in, size_t out)
{
    return kernels->fp8 && (rows | in | out) % KERNEL_FP8_STEP == 0;
}

/* Returns the weights in both orders. They are cast again if any weights have changed. */
static const struct cast *find(struct kernels *kernels, const uint16_t *w, size_t in, size_t out)
{
    struct fp8 *fp8 = kernels->fp8;
    size_t i = 0;
    while (i < fp8->count &&
           (fp8->casts[i].w != w || fp8->casts[i].in != in || fp8->casts[i].out != out))
        i++;
    if (i == fp8->count) {
        fp8->casts = xreallocarray(fp8->casts, ++fp8->count, sizeof *fp8->casts);
        fp8->casts[i] = (struct cast){.w = w,
                                      .in = in,
                                      .out = out,
                                      .changes = kernels->changes - 1,
                                      .plain = kernels_memory(kernels, in * out),
                                      .turned = kernels_memory(kernels, in * out),
                                      .scale = kernels_memory(kernels, sizeof(float))};
    }
    struct cast *cast = &fp8->casts[i];
    if (cast->changes != kernels->changes) {
        size_t parts = fp8_largest(kernels, w, in * out);
        fp8_cast(kernels, cast->plain, cast->scale, w, in * out, parts, FP8_E4M3);
        fp8_cast_turned(kernels, cast->turned, w, in, out, parts, FP8_E4M3);
        cast->changes = kernels->changes;
    }
    return cast;
}

/* Casts the other factor. */
static void take_input(struct kernels *kernels, const uint16_t *x, size_t count, enum fp8_kind kind)
{
    struct fp8 *fp8 = kernels->fp8;
    if (count > fp8->input_bytes) {
        kernels_release(kernels, fp8->input); /* waits for kernels that use it */
        fp8->input = kernels_memory(kernels, count);
        fp8->input_bytes = count;
    }
    fp8_cast(kernels, fp8->input, fp8->input_scale, x, count, fp8_largest(kernels, x, count), kind);
}

void fp8_product(struct kernels *kernels, uint16_t *y, const uint16_t *x, const uint16_t *w,
                 size_t rows, size_t in, size_t out, enum fp8_kind kind)
{
    bool is_gradient = kind == FP8_E5M2;
    size_t inner = is_gradient ? out : in, columns = is_gradient ? in : out;
    const struct cast *cast = find(kernels, w, in, out);
    take_input(kernels, x, rows * inner, kind);
    products_multiply(kernels, y, columns,
                      (struct factor){.data = kernels->fp8->input,
                                      .stride = inner,
                                      .number = is_gradient ? PRODUCT_E5M2 : PRODUCT_E4M3,
                                      .scale = kernels->fp8->input_scale},
                      (struct factor){.data = is_gradient ? cast->plain : cast->turned,
                                      .stride = inner,
                                      .is_turned = true,
                                      .number = PRODUCT_E4M3,
                                      .scale = cast->scale},
                      rows, inner, columns, PRODUCT_BF16, KERNEL_SET);
}
