/* What the files of CPU kernels share: products, an exponential of four lanes, a softmax, scratch.
 * Private to these files and their tests. */
#ifndef PHASED_WORKER_MODEL_CPU_H
#define PHASED_WORKER_MODEL_CPU_H

#include "worker/model/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* Every x86-64 and every arm64 has vectors of four lanes, so these are passed in registers. */
typedef float cpu_lanes4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t cpu_integers4 __attribute__((vector_size(16)));

/* e^x for x <= 0, exact to 2 units in the last place (the polynomial of Cephes). -87 and below give
 * e^-87. The function of the C library is not used, because its result depends on the processor,
 * and because it takes one number at a time. */
static inline cpu_lanes4 cpu_exp(cpu_lanes4 x)
{
    const float lowest = -87.0f, rounder = 12582912.0f; /* 1.5 * 2^23: adding it rounds */
    cpu_integers4 inside = x > lowest;
    cpu_lanes4 floor = lowest - (cpu_lanes4){0};
    x = (cpu_lanes4)(((cpu_integers4)x & inside) | ((cpu_integers4)floor & ~inside));
    cpu_lanes4 power = x * 1.44269504088896341f + rounder - rounder;
    cpu_lanes4 r = x - power * 0.693359375f + power * 2.12194440e-4f;
    cpu_lanes4 p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    /* 2^23 moves the exponent to its place. The analyzer reports the shift of a vector as an
     * error. */
    cpu_integers4 exponent = __builtin_convertvector(power, cpu_integers4) + 127;
    return p * (cpu_lanes4)(exponent * 8388608);
}

/* Turns `count` >= 1 numbers into their softmax; returns log(sum(exp(x))). */
float cpu_softmax(float *x, size_t count);

/* The sum of a[i] * b[i], in four interleaved sums. */
float cpu_dot(const float *a, const float *b, size_t count);

/* A matrix with strides: element (row, column) is data[row * row_stride + column * column_stride].
 * A transposed view swaps the strides. */
struct cpu_view {
    const float *data;
    size_t row_stride, column_stride;
};

/* c[rows x columns] = or += a[rows x inner] b[inner x columns]; the rows of c and b are
 * `..._stride` apart. Each element is summed in the order of `inner`, after the first terms that c
 * has. Processors that are slow with subnormal numbers take them for 0. */
void cpu_product(float *c, size_t c_stride, struct cpu_view a, const float *b, size_t b_stride,
                 size_t rows, size_t inner, size_t columns, enum kernel_mode mode);

/* The form of cpu_product() for processors without vectors of eight. Tests use it on processors
 * that have such vectors. */
void cpu_product_of_4(float *c, size_t c_stride, struct cpu_view a, const float *b, size_t b_stride,
                      size_t rows, size_t inner, size_t columns, enum kernel_mode mode);

/* to[columns x rows] = from[rows x columns]. The rows of `from` are `stride` apart. */
void cpu_transpose(float *to, const float *from, size_t stride, size_t rows, size_t columns);

/* Returns room for `count` floats until the next call. It grows in the first step only. */
float *cpu_scratch(struct kernels *kernels, size_t count);

#endif
