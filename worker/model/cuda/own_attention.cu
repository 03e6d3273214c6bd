/* Attention by own kernels: how each body is launched. */
#include "worker/model/cuda/launch.cuh"

#include "worker/model/cuda/attention_bodies.h"

enum { ATTENTION_BLOCK = 128 };

void own_attention(struct kernels *kernels, uint16_t *y, float *ret_kept, const uint16_t *qkv,
                   const struct kernel_attention_shape *shape)
{
    const struct kernel_attention_shape own = *shape;
    launch_blocks<ATTENTION_BLOCK>(
        kernels, own.batch * own.heads * own.sequence, "attention",
        [=] __device__(const struct team *team) { body_attention(team, y, ret_kept, qkv, &own); });
}

void own_attention_backward(struct kernels *kernels, uint16_t *dqkv, const uint16_t *dy,
                            const uint16_t *y, const float *kept, const uint16_t *qkv,
                            const struct kernel_attention_shape *shape)
{
    const struct kernel_attention_shape own = *shape;
    launch_blocks<ATTENTION_BLOCK>(kernels, own.batch * own.heads * own.sequence,
                                   "gradient of queries", [=] __device__(const struct team *team) {
                                       body_attention_dq(team, dqkv, dy, y, kept, qkv, &own);
                                   });
    launch_blocks<ATTENTION_BLOCK>(kernels, own.batch * own.kv_heads * own.sequence,
                                   "gradient of keys", [=] __device__(const struct team *team) {
                                       body_attention_dkv(team, dqkv, dy, y, kept, qkv, &own);
                                   });
}

void kernel_attention_newest(struct kernels *kernels, kernel_number *y, kernel_number *keys,
                             kernel_number *values, const kernel_number *qkv,
                             const struct kernel_pages *pages,
                             const struct kernel_attention_shape *shape)
{
    const struct kernel_attention_shape own = *shape;
    const struct kernel_pages kept = *pages;
    launch_threads(kernels, own.batch * own.kv_heads * own.head_width / 8, "keeping keys",
                   [=] __device__(const struct team *team) {
                       body_keep_newest(team, keys, values, qkv, &kept, &own);
                   });
    launch_blocks<ATTENTION_BLOCK>(kernels, own.batch * own.heads, "attention of one token",
                                   [=] __device__(const struct team *team) {
                                       body_attention_newest(team, y, keys, values, qkv, &kept,
                                                             &own);
                                   });
}
