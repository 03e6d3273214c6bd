/* The kernels that turn bfloats into numbers of 8 bits: how each body is launched. */
#include "worker/model/cuda/fp8.h"
#include "worker/model/cuda/launch.cuh"

enum { CAST_BLOCK = 256 };

size_t fp8_largest(struct kernels *kernels, const uint16_t *x, size_t count)
{
    float *parts = kernels->parts;
    size_t blocks = blocks_for(kernels, count / 8, CAST_BLOCK);
    launch_blocks<CAST_BLOCK>(
        kernels, blocks, "largest magnitude",
        [=] __device__(const struct team *team) { body_largest_parts(team, parts, x, count); });
    return blocks;
}

void fp8_cast(struct kernels *kernels, uint8_t *to, float *ret_scale, const uint16_t *x,
              size_t count, size_t part_count, enum fp8_kind kind)
{
    const float *parts = kernels->parts;
    launch_blocks<CAST_BLOCK>(kernels, blocks_for(kernels, count / 16, CAST_BLOCK),
                              "cast to 8 bits", [=] __device__(const struct team *team) {
                                  body_cast(team, to, ret_scale, parts, part_count, x, count, kind);
                              });
}

void fp8_cast_turned(struct kernels *kernels, uint8_t *to, const uint16_t *x, size_t rows,
                     size_t columns, size_t part_count, enum fp8_kind kind)
{
    const float *parts = kernels->parts;
    launch_blocks<CAST_BLOCK>(kernels, blocks_for(kernels, rows / 16 * columns, CAST_BLOCK),
                              "cast to 8 bits", [=] __device__(const struct team *team) {
                                  body_cast_turned(team, to, parts, part_count, x, rows, columns,
                                                   kind);
                              });
}
