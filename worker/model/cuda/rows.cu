/* The kernels of worker/model/kernels.h but products and attention: how each body is launched. */
#include "worker/model/cuda/launch.cuh"
#include "worker/model/cuda/row_bodies.h"

enum {
    NORM_BLOCK = 256,
    ROW_BLOCK = 512,
    TOTAL_BLOCK = 1024,
    DRAW_BLOCK = 1024,
    SQUARE_BLOCK = 256,
    GAIN_PARTS = 256,
};

/* *sum += the first `count` parts. */
static void add_total(struct kernels *kernels, float *sum, size_t count)
{
    const float *parts = kernels->parts;
    launch_blocks<TOTAL_BLOCK>(kernels, 1, "adding up", [=] __device__(const struct team *team) {
        body_add_total(team, sum, parts, count);
    });
}

void kernel_sum_rmsnorm(struct kernels *kernels, kernel_number *state, kernel_number *y,
                        float *ret_scale, const kernel_number *a, const kernel_number *b,
                        const float *gain, size_t rows, size_t width)
{
    auto body = [=] __device__(const struct team *team) {
        body_sum_rmsnorm(team, state, y, ret_scale, a, b, gain, rows, width);
    };
    if (rows <= KERNEL_STEP_ROWS) /* too few for warps to keep the GPU busy */
        launch_blocks<NORM_BLOCK>(kernels, rows, "norm", body);
    else
        launch_warps(kernels, rows, "norm", body);
}

void kernel_rmsnorm_backward(struct kernels *kernels, kernel_number *dx, float *dgain,
                             const kernel_number *dy, const kernel_number *x, const float *gain,
                             const float *scale, size_t rows, size_t width)
{
    float *parts = kernels->parts;
    const size_t room = BACKEND_PARTS / width, most = room < GAIN_PARTS ? room : (size_t)GAIN_PARTS;
    const size_t count = rows < most ? rows : most;
    launch_warps(kernels, rows, "gradient of the norm", [=] __device__(const struct team *team) {
        body_rmsnorm_backward(team, dx, dy, x, gain, scale, rows, width);
    });
    launch_threads(kernels, count * width / 8, "gradient of the gain",
                   [=] __device__(const struct team *team) {
                       body_gain_parts(team, parts, count, dy, x, scale, rows, width);
                   });
    launch_threads(kernels, width, "gradient of the gain", [=] __device__(const struct team *team) {
        body_add_parts(team, dgain, parts, count, width);
    });
}

void kernel_gate(struct kernels *kernels, kernel_number *y, const kernel_number *wide, size_t rows,
                 size_t hidden)
{
    launch_threads(kernels, rows * hidden / 8, "gate", [=] __device__(const struct team *team) {
        body_gate(team, y, wide, rows, hidden);
    });
}

void kernel_gate_backward(struct kernels *kernels, kernel_number *dwide, const kernel_number *dy,
                          const kernel_number *wide, size_t rows, size_t hidden)
{
    launch_threads(kernels, rows * hidden / 8, "gradient of the gate",
                   [=] __device__(const struct team *team) {
                       body_gate_backward(team, dwide, dy, wide, rows, hidden);
                   });
}

void kernel_sum(struct kernels *kernels, kernel_number *y, const kernel_number *a,
                const kernel_number *b, size_t count)
{
    launch_threads(kernels, count / 8, "sum",
                   [=] __device__(const struct team *team) { body_sum(team, y, a, b, count); });
}

void own_add(struct kernels *kernels, uint16_t *y, const float *sums, size_t count)
{
    launch_threads(kernels, count / 8, "adding sums",
                   [=] __device__(const struct team *team) { body_add(team, y, sums, count); });
}

void kernel_embed(struct kernels *kernels, kernel_number *y, const uint32_t *ids,
                  const kernel_number *table, size_t rows, size_t width)
{
    launch_threads(kernels, rows * width / 8, "embedding", [=] __device__(const struct team *team) {
        body_embed(team, y, ids, table, rows, width);
    });
}

void kernel_embed_backward(struct kernels *kernels, float *dtable, const kernel_number *dy,
                           const uint32_t *ids, size_t rows, size_t width)
{
    launch_threads(kernels, rows * width / 8, "gradient of the embedding",
                   [=] __device__(const struct team *team) {
                       body_embed_backward(team, dtable, dy, ids, rows, width);
                   });
}

void kernel_cross_entropy(struct kernels *kernels, kernel_number *logits, float *loss,
                          const uint32_t *targets, float gradient_scale, size_t rows,
                          size_t classes)
{
    float *parts = kernels->parts;
    launch_blocks<ROW_BLOCK>(kernels, rows, "loss", [=] __device__(const struct team *team) {
        body_cross_entropy(team, logits, parts, targets, gradient_scale, rows, classes);
    });
    add_total(kernels, loss, blocks_for(kernels, rows, 1));
}

void kernel_draw(struct kernels *kernels, uint32_t *ret_tokens, const kernel_number *logits,
                 const double *randoms, size_t rows, const struct kernel_parts *parts,
                 const struct kernel_draw_options *how)
{
    const struct kernel_parts own = *parts;
    const struct kernel_draw_options own_how = *how;
    launch_blocks<DRAW_BLOCK>(kernels, rows, "draw", [=] __device__(const struct team *team) {
        body_draw(team, ret_tokens, logits, randoms, rows, &own, &own_how);
    });
}

void kernel_rotary(struct kernels *kernels, kernel_number *qkv, const float *table,
                   const uint32_t *firsts, const struct kernel_attention_shape *shape,
                   enum kernel_turn turn)
{
    const struct kernel_attention_shape own = *shape;
    float sign = turn == KERNEL_FORWARD ? 1.0f : -1.0f;
    size_t turned = own.batch * own.sequence * (own.heads + own.kv_heads);
    launch_threads(kernels, turned * own.head_width / 16, "rotary positions",
                   [=] __device__(const struct team *team) {
                       body_rotary(team, qkv, table, firsts, &own, sign);
                   });
}

void kernel_round(struct kernels *kernels, kernel_number *weights, const float *master,
                  size_t count)
{
    kernels->changes++;
    launch_threads(kernels, count / 8, "rounding", [=] __device__(const struct team *team) {
        body_round(team, weights, master, count);
    });
}

void kernel_square_sum(struct kernels *kernels, float *sum, const float *x, size_t count)
{
    float *parts = kernels->parts;
    size_t blocks = blocks_for(kernels, count / 8, SQUARE_BLOCK);
    launch_blocks<SQUARE_BLOCK>(
        kernels, blocks, "sum of squares",
        [=] __device__(const struct team *team) { body_square_parts(team, parts, x, count); });
    add_total(kernels, sum, blocks);
}

void kernel_adamw(struct kernels *kernels, float *master, kernel_number *weights, float *moment1,
                  float *moment2, const float *gradient, size_t count, const float *square_sum,
                  const struct kernel_adamw_step *step)
{
    kernels->changes++;
    const struct kernel_adamw_step own = *step;
    launch_threads(kernels, count / 8, "update", [=] __device__(const struct team *team) {
        body_adamw(team, master, weights, moment1, moment2, gradient, count, square_sum, &own);
    });
}
