/* Attention by own kernels: how each body is launched. */
#include "worker/model/cuda/launch.cuh"

#include "worker/model/cuda/attention_bodies.h"

enum {
    ATTENTION_BLOCK = 128,
    SPLIT_KEYS = ATTENTION_BLOCK, /* one for each thread */
};

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

/* Returns how keys are cut, and how many rows have room for their parts. Only sequences of millions
 * of tokens have more keys at a place. */
static struct split split_of(const struct kernels *kernels, const struct kernel_pages *pages,
                             const struct kernel_attention_shape *shape)
{
    size_t tokens = pages->row * KERNEL_PAGE, part = SPLIT_MORE + shape->head_width;
    struct split split = {0, 0, SPLIT_KEYS, 0, kernels->parts};
    for (;; split.keys *= 2) {
        split.places = (tokens + split.keys - 1) / split.keys;
        split.rows = BACKEND_PARTS / (shape->heads * split.places * part);
        if (split.rows > 0)
            return split;
    }
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
    struct split split = split_of(kernels, pages, shape);
    for (size_t most = split.rows; split.first < own.batch; split.first += most) {
        split.rows = own.batch - split.first < most ? own.batch - split.first : most;
        launch_blocks<ATTENTION_BLOCK>(
            kernels, split.rows * own.heads * split.places, "attention of one token",
            [=] __device__(const struct team *team) {
                body_look_newest(team, keys, values, qkv, &kept, &own, &split);
            });
        launch_warps(kernels, split.rows * own.heads, "joining attention",
                     [=] __device__(const struct team *team) {
                         body_join_newest(team, y, &kept, &own, &split);
                     });
    }
}
