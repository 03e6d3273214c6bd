/* The bodies of kernels that turn bfloats into numbers of 8 bits. Counts are multiples of 16.
 *
 * e4m3 has 3 bits of mantissa and reaches 448. e5m2 has 2 bits of mantissa and reaches 57344, for
 * gradients. A tensor is scaled so that its largest magnitude becomes the largest number. Numbers
 * are rounded to the nearest, ties to even. Larger numbers become the largest number, and NaN stays
 * NaN. */
#ifndef PHASED_WORKER_MODEL_CUDA_FP8_BODIES_H
#define PHASED_WORKER_MODEL_CUDA_FP8_BODIES_H

#include "worker/model/cuda/team.h"

#include <stdbool.h>

#ifdef __CUDACC__
#include <cuda_fp8.h>
#endif

enum fp8_kind { FP8_E4M3, FP8_E5M2 };

BODY float fp8_most(enum fp8_kind kind)
{
    return kind == FP8_E5M2 ? 57344.0f : 448.0f;
}

BODY uint32_t fp8_of(float value, enum fp8_kind kind)
{
#ifdef __CUDACC__
    return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, kind == FP8_E5M2 ? __NV_E5M2 : __NV_E4M3);
#else
    int mantissa = kind == FP8_E5M2 ? 2 : 3, lowest = kind == FP8_E5M2 ? -14 : -6, next;
    uint32_t sign = signbit(value) ? 0x80 : 0;
    if (isnan(value))
        return sign | 0x7f;
    float magnitude = fminf(fabsf(value), fp8_most(kind));
    (void)frexpf(magnitude, &next);
    int exponent = next - 1 > lowest && magnitude > 0 ? next - 1 : lowest;
    /* The numbers below the normal ones have the exponent of the lowest normal ones. If rounding
     * reaches the next power of two, the sum carries into the exponent. */
    uint32_t quanta = (uint32_t)rintf(ldexpf(magnitude, mantissa - exponent));
    return sign | (((uint32_t)(exponent - lowest) << mantissa) + quanta);
#endif
}

/* parts[team] = the largest magnitude that the team meets. */
BODY void body_largest_parts(const struct team *team, float *parts, const uint16_t *x, size_t count)
{
    float largest = 0;
    for (size_t i = team_first(team); i < count / 8; i += team_stride(team)) {
        struct eight some = load(x, i);
        for (int j = 0; j < 8; j++)
            largest = fmaxf(largest, fabsf(some.at[j])); /* skips what is not a number */
    }
    largest = team_max(team, largest);
    if (team->index == 0)
        parts[team->number] = largest;
}

/* Returns the largest part, but not less than a number whose reciprocal is finite. */
BODY float largest_of(const struct team *team, const float *parts, size_t part_count)
{
    float largest = 1e-30f;
    for (size_t i = team->index; i < part_count; i += team->size)
        largest = fmaxf(largest, parts[i]);
    return team_max(team, largest);
}

/* to = x, scaled; x is `to` times *ret_scale. */
BODY void body_cast(const struct team *team, uint8_t *to, float *ret_scale, const float *parts,
                    size_t part_count, const uint16_t *x, size_t count, enum fp8_kind kind)
{
    float largest = largest_of(team, parts, part_count), factor = fp8_most(kind) / largest;
    if (team_first(team) == 0)
        *ret_scale = largest / fp8_most(kind);
    for (size_t i = team_first(team); i < count / 16; i += team_stride(team)) {
        struct eight halves[2] = {load(x, 2 * i), load(x, 2 * i + 1)};
        struct packed packed = {{0, 0, 0, 0}};
        for (int j = 0; j < 16; j++)
            packed.words[j / 4] |= fp8_of(halves[j / 8].at[j % 8] * factor, kind) << 8 * (j % 4);
        ((struct packed *)(void *)to)[i] = packed;
    }
}

/* to[columns x rows] = the transpose of x[rows x columns], scaled as by body_cast(). A thread for
 * 16 rows of a column: neighbours read neighbours. */
BODY void body_cast_turned(const struct team *team, uint8_t *to, const float *parts,
                           size_t part_count, const uint16_t *x, size_t rows, size_t columns,
                           enum fp8_kind kind)
{
    float factor = fp8_most(kind) / largest_of(team, parts, part_count);
    for (size_t i = team_first(team); i < rows / 16 * columns; i += team_stride(team)) {
        size_t column = i % columns, row = i / columns * 16;
        struct packed packed = {{0, 0, 0, 0}};
        for (size_t j = 0; j < 16; j++)
            packed.words[j / 4] |= fp8_of(float_of(x[(row + j) * columns + column]) * factor, kind)
                                   << 8 * (j % 4);
        *(struct packed *)(void *)(to + column * rows + row) = packed;
    }
}

#endif
