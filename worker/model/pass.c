/* The forward and backward passes through loops and blocks.
 *
 * The blocks of all loops are one chain: block number i is layer i % depth of loop i / depth.
 * states[i] is what block i reads, and states[loops * depth] is the last result. The sum that ends
 * a block and the norm that begins the next block are one kernel. */
#include "worker/model/pass.h"

#include "lib/memory.h"

#include "worker/model/kernels.h"
#include "worker/model/model.h"

#include <assert.h>
#include <stdlib.h>

/* The logits of a batch can be larger than the model. So they are made and used for some rows at a
 * time (KERNEL_LOGITS_MAX), at least for so many. */
enum { LOGITS_ROWS_MIN = 64 };

/* What one application of one block keeps for its backward pass. */
struct kept {
    kernel_number *norm1, *qkv, *attended, *middle, *norm2, *wide, *gated;
    float *scale1, *scale2, *attention;
};

struct pass {
    struct model *model;
    size_t batch_max;
    void *memory;           /* contains all arrays below */
    struct kept *kept;      /* loops * depth */
    kernel_number **states; /* loops * depth + 1 */
    kernel_number *normed;  /* the last state after the last norm, if the model has one */
    float *normed_scale;
    kernel_number *branch; /* what a block adds to the state */
    kernel_number *logits; /* logits_rows x vocabulary */
    size_t logits_rows;
    kernel_number **dstates; /* loops: the gradient that the loss of each loop gives to its state */
    kernel_number *dstate, *dnormed, *dattended, *dqkv, *dgated, *dwide;
    uint32_t *ids, *targets;
    float *losses; /* loops */
};

/* Hands out consecutive arrays. If `memory` is NULL, it only counts. */
struct arena {
    char *memory;
    size_t used;
};

static void *take_bytes(struct arena *arena, size_t bytes)
{
    void *array = arena->memory ? arena->memory + arena->used : NULL;
    arena->used += (bytes + 255) & ~(size_t)255;
    return array;
}

static kernel_number *take_numbers(struct arena *arena, size_t count)
{
    return take_bytes(arena, count * sizeof(kernel_number));
}

static float *take_floats(struct arena *arena, size_t count)
{
    return take_bytes(arena, count * sizeof(float));
}

static size_t qkv_width(const struct model_shape *shape)
{
    return (shape->heads + 2 * (size_t)shape->kv_heads) * (shape->width / shape->heads);
}

static size_t block_count(const struct model_shape *shape)
{
    return (size_t)shape->loops * shape->depth;
}

static void place_block(const struct pass *pass, struct kept *kept, struct arena *arena)
{
    const struct model_shape *shape = &pass->model->shape;
    size_t sequence = pass->model->sequence;
    struct kernel_attention_shape attention = model_attention(shape, pass->batch_max, sequence);
    size_t rows = pass->batch_max * sequence, area = rows * shape->width;
    kept->norm1 = take_numbers(arena, area);
    kept->qkv = take_numbers(arena, rows * qkv_width(shape));
    kept->attended = take_numbers(arena, area);
    kept->middle = take_numbers(arena, area);
    kept->norm2 = take_numbers(arena, area);
    kept->wide = take_numbers(arena, rows * 2 * shape->hidden);
    kept->gated = take_numbers(arena, rows * shape->hidden);
    kept->scale1 = take_floats(arena, rows);
    kept->scale2 = take_floats(arena, rows);
    kept->attention = take_floats(arena, kernel_attention_kept(&attention));
}

static void place_all(struct pass *pass, struct arena *arena)
{
    const struct model_shape *shape = &pass->model->shape;
    size_t rows = pass->batch_max * pass->model->sequence, area = rows * shape->width;
    size_t blocks = block_count(shape);
    for (size_t i = 0; i < blocks; i++)
        place_block(pass, &pass->kept[i], arena);
    for (size_t i = 0; i <= blocks; i++)
        pass->states[i] = take_numbers(arena, area);
    for (size_t i = 0; i < shape->loops; i++)
        pass->dstates[i] = take_numbers(arena, area);
    pass->normed = take_numbers(arena, area);
    pass->normed_scale = take_floats(arena, rows);
    pass->branch = take_numbers(arena, area);
    pass->logits = take_numbers(arena, pass->logits_rows * shape->vocabulary);
    pass->dstate = take_numbers(arena, area);
    pass->dnormed = take_numbers(arena, area);
    pass->dattended = take_numbers(arena, area);
    pass->dqkv = take_numbers(arena, rows * qkv_width(shape));
    pass->dgated = take_numbers(arena, rows * shape->hidden);
    pass->dwide = take_numbers(arena, rows * 2 * shape->hidden);
    pass->ids = take_bytes(arena, rows * sizeof *pass->ids);
    pass->targets = take_bytes(arena, rows * sizeof *pass->targets);
    pass->losses = take_floats(arena, shape->loops);
}

void pass_free(struct pass *pass)
{
    if (!pass)
        return;
    kernels_release(pass->model->kernels, pass->memory);
    free(pass->kept);
    free(pass->states);
    free(pass->dstates);
    free(pass);
}

struct pass *pass_new(struct model *model, size_t batch_max, struct error *err)
{
    const struct model_shape *shape = &model->shape;
    size_t blocks = block_count(shape), rows = batch_max * model->sequence;
    struct pass *pass = xcalloc(1, sizeof *pass);
    pass->model = model;
    pass->batch_max = batch_max;
    pass->kept = xcalloc(blocks, sizeof *pass->kept);
    pass->states = xcalloc(blocks + 1, sizeof *pass->states);
    pass->dstates = xcalloc(shape->loops, sizeof *pass->dstates);
    size_t fitting = KERNEL_LOGITS_MAX / shape->vocabulary / LOGITS_ROWS_MIN * LOGITS_ROWS_MIN;
    fitting = fitting > LOGITS_ROWS_MIN ? fitting : LOGITS_ROWS_MIN;
    pass->logits_rows = fitting < rows ? fitting : rows;
    struct arena arena = {0};
    place_all(pass, &arena);
    pass->memory = kernels_memory(model->kernels, arena.used);
    arena = (struct arena){.memory = pass->memory};
    place_all(pass, &arena);
    if (kernels_status(model->kernels, err) < 0) {
        pass_free(pass);
        return NULL;
    }
    return pass;
}

/* Ends block `i`: adds its branch to its middle. The next block begins with a norm of the sum, and
 * so does the head of a model with a last norm. */
static void end_block(struct pass *pass, size_t i, size_t rows)
{
    struct model *model = pass->model;
    struct kept *kept = &pass->kept[i];
    const struct model_shape *shape = &model->shape;
    const float *last_norm = model_ends(model).norm;
    size_t width = shape->width, next = i + 1;
    if (next < block_count(shape))
        kernel_sum_rmsnorm(model->kernels, pass->states[next], kept[1].norm1, kept[1].scale1,
                           kept->middle, pass->branch,
                           model_block(model, next % shape->depth).norm1, rows, width);
    else if (last_norm)
        kernel_sum_rmsnorm(model->kernels, pass->states[next], pass->normed, pass->normed_scale,
                           kept->middle, pass->branch, last_norm, rows, width);
    else
        kernel_sum(model->kernels, pass->states[next], kept->middle, pass->branch, rows * width);
}

/* state = state + attention(norm(state)), then state = state + mlp(norm(state)). The first norm is
 * already there. */
static void block_forward(struct pass *pass, size_t i, size_t batch)
{
    struct model *model = pass->model;
    struct kernels *kernels = model->kernels;
    struct kept *kept = &pass->kept[i];
    const struct model_shape *shape = &model->shape;
    struct model_block block = model_block(model, i % shape->depth);
    struct kernel_attention_shape attention = model_attention(shape, batch, model->sequence);
    size_t width = shape->width, hidden = shape->hidden, rows = batch * model->sequence;

    kernel_matmul(kernels, kept->qkv, kept->norm1, block.qkv, rows, width, qkv_width(shape),
                  KERNEL_IN_OUT);
    kernel_rotary(kernels, kept->qkv, model->turns, NULL, &attention, KERNEL_FORWARD);
    kernel_attention(kernels, kept->attended, kept->attention, kept->qkv, &attention);
    kernel_matmul(kernels, pass->branch, kept->attended, block.out, rows, width, width,
                  KERNEL_IN_OUT);
    kernel_sum_rmsnorm(kernels, kept->middle, kept->norm2, kept->scale2, pass->states[i],
                       pass->branch, block.norm2, rows, width);

    kernel_matmul(kernels, kept->wide, kept->norm2, block.up, rows, width, 2 * hidden,
                  KERNEL_IN_OUT);
    kernel_gate(kernels, kept->gated, kept->wide, rows, hidden);
    kernel_matmul(kernels, pass->branch, kept->gated, block.down, rows, hidden, width,
                  KERNEL_IN_OUT);
    end_block(pass, i, rows);
}

/* `dstate` is the gradient of the output of the block, and becomes the gradient of its input. */
static void block_backward(struct pass *pass, size_t i, size_t batch)
{
    struct model *model = pass->model;
    struct kernels *kernels = model->kernels;
    const struct kept *kept = &pass->kept[i];
    const struct model_shape *shape = &model->shape;
    struct model_block block = model_block(model, i % shape->depth);
    struct model_block_gradient gradient = model_block_gradient(model, i % shape->depth);
    enum kernel_mode mode = model_gradient_mode(model, i % shape->depth);
    struct kernel_attention_shape attention = model_attention(shape, batch, model->sequence);
    size_t width = shape->width, hidden = shape->hidden, rows = batch * model->sequence;

    kernel_matmul_dw(kernels, gradient.down, pass->dstate, kept->gated, rows, hidden, width,
                     KERNEL_IN_OUT, mode);
    kernel_matmul_dx(kernels, pass->dgated, pass->dstate, block.down, rows, hidden, width,
                     KERNEL_IN_OUT);
    kernel_gate_backward(kernels, pass->dwide, pass->dgated, kept->wide, rows, hidden);
    kernel_matmul_dw(kernels, gradient.up, pass->dwide, kept->norm2, rows, width, 2 * hidden,
                     KERNEL_IN_OUT, mode);
    kernel_matmul_dx(kernels, pass->dnormed, pass->dwide, block.up, rows, width, 2 * hidden,
                     KERNEL_IN_OUT);
    kernel_rmsnorm_backward(kernels, pass->dstate, gradient.norm2, pass->dnormed, kept->middle,
                            block.norm2, kept->scale2, rows, width);

    kernel_matmul_dw(kernels, gradient.out, pass->dstate, kept->attended, rows, width, width,
                     KERNEL_IN_OUT, mode);
    kernel_matmul_dx(kernels, pass->dattended, pass->dstate, block.out, rows, width, width,
                     KERNEL_IN_OUT);
    kernel_attention_backward(kernels, pass->dqkv, pass->dattended, kept->attended, kept->attention,
                              kept->qkv, &attention);
    kernel_rotary(kernels, pass->dqkv, model->turns, NULL, &attention, KERNEL_BACKWARD);
    kernel_matmul_dw(kernels, gradient.qkv, pass->dqkv, kept->norm1, rows, width, qkv_width(shape),
                     KERNEL_IN_OUT, mode);
    kernel_matmul_dx(kernels, pass->dnormed, pass->dqkv, block.qkv, rows, width, qkv_width(shape),
                     KERNEL_IN_OUT);
    kernel_rmsnorm_backward(kernels, pass->dstate, gradient.norm1, pass->dnormed, pass->states[i],
                            block.norm1, kept->scale1, rows, width);
}

static void run_blocks(struct pass *pass, const uint32_t *ids, const uint32_t *targets,
                       size_t batch)
{
    struct model *model = pass->model;
    const struct model_shape *shape = &model->shape;
    size_t rows = batch * model->sequence;
    assert(batch <= pass->batch_max);
    kernels_put(model->kernels, pass->ids, ids, rows * sizeof *ids);
    kernels_put(model->kernels, pass->targets, targets, rows * sizeof *targets);
    kernel_embed(model->kernels, pass->states[0], pass->ids, model_ends(model).tokens, rows,
                 shape->width);
    kernel_sum_rmsnorm(model->kernels, NULL, pass->kept[0].norm1, pass->kept[0].scale1,
                       pass->states[0], NULL, model_block(model, 0).norm1, rows, shape->width);
    for (size_t i = 0; i < block_count(shape); i++)
        block_forward(pass, i, batch);
}

/* What the head reads after a loop, and the gradient that it gives. */
struct reading {
    const kernel_number *state;
    kernel_number *dstate;
};

static struct reading reading_of(const struct pass *pass, size_t loop)
{
    struct model *model = pass->model;
    if (model_ends(model).norm)
        return (struct reading){pass->normed, pass->dnormed};
    return (struct reading){pass->states[(loop + 1) * model->shape.depth], pass->dstates[loop]};
}

/* Applies the head to some rows of a state, and adds their losses. Their logits become their
 * gradient times `scale`. */
static void read_rows(struct pass *pass, size_t loop, size_t first, size_t count, float scale)
{
    struct model *model = pass->model;
    const struct model_shape *shape = &model->shape;
    kernel_matmul(model->kernels, pass->logits, reading_of(pass, loop).state + first * shape->width,
                  model_ends(model).head, count, shape->width, shape->vocabulary, KERNEL_OUT_IN);
    kernel_cross_entropy(model->kernels, pass->logits, pass->losses + loop, pass->targets + first,
                         scale, count, shape->vocabulary);
}

static void read_rows_backward(struct pass *pass, size_t loop, size_t first, size_t count)
{
    struct model *model = pass->model;
    struct reading reading = reading_of(pass, loop);
    size_t width = model->shape.width, vocabulary = model->shape.vocabulary;
    kernel_matmul_dw(model->kernels, model_ends_gradient(model).head, pass->logits,
                     reading.state + first * width, count, width, vocabulary, KERNEL_OUT_IN,
                     model_gradient_mode(model, model->shape.depth));
    kernel_matmul_dx(model->kernels, reading.dstate + first * width, pass->logits,
                     model_ends(model).head, count, width, vocabulary, KERNEL_OUT_IN);
}

/* Leaves in dstates[loop] what the loss of this loop gives to the state. */
static void read_and_learn(struct pass *pass, size_t loop, size_t batch, float scale)
{
    struct model *model = pass->model;
    size_t width = model->shape.width, rows = batch * model->sequence;
    const float *norm = model_ends(model).norm;
    for (size_t first = 0; first < rows; first += pass->logits_rows) {
        size_t count = rows - first < pass->logits_rows ? rows - first : pass->logits_rows;
        read_rows(pass, loop, first, count, scale);
        read_rows_backward(pass, loop, first, count);
    }
    if (norm) {
        kernels_clear(model->kernels, pass->dstates[loop], rows * width * sizeof(kernel_number));
        kernel_rmsnorm_backward(
            model->kernels, pass->dstates[loop], model_ends_gradient(model).norm, pass->dnormed,
            pass->states[(loop + 1) * model->shape.depth], norm, pass->normed_scale, rows, width);
    }
}

void pass_learn(struct pass *pass, const uint32_t *ids, const uint32_t *targets, size_t batch,
                const float *scales, enum pass_round round)
{
    struct model *model = pass->model;
    const struct model_shape *shape = &model->shape;
    size_t rows = batch * model->sequence, area = rows * shape->width;
    run_blocks(pass, ids, targets, batch);
    for (size_t loop = 0; loop < shape->loops; loop++)
        read_and_learn(pass, loop, batch, scales[loop]);
    kernels_clear(model->kernels, pass->dstate, area * sizeof *pass->dstate);
    for (size_t i = block_count(shape); i-- > 0;) {
        if ((i + 1) % shape->depth == 0)
            kernel_sum(model->kernels, pass->dstate, pass->dstate, pass->dstates[i / shape->depth],
                       area);
        block_backward(pass, i, batch);
        if (round == PASS_LAST_ROUND && i < shape->depth)
            model_sum(model, MODEL_BUCKET_BLOCKS + i);
    }
    kernel_embed_backward(model->kernels, model_ends_gradient(model).tokens, pass->dstate,
                          pass->ids, rows, shape->width);
    if (round == PASS_LAST_ROUND) {
        model_sum(model, MODEL_BUCKET_ENDS);
        model_sum(model, MODEL_BUCKET_GAINS);
    }
}

void pass_evaluate(struct pass *pass, const uint32_t *ids, const uint32_t *targets, size_t batch)
{
    struct model *model = pass->model;
    size_t rows = batch * model->sequence;
    run_blocks(pass, ids, targets, batch);
    for (size_t loop = 0; loop < model->shape.loops; loop++)
        for (size_t first = 0; first < rows; first += pass->logits_rows) {
            size_t count = rows - first < pass->logits_rows ? rows - first : pass->logits_rows;
            read_rows(pass, loop, first, count, 0);
        }
}

void pass_losses(const struct pass *pass, double *ret_losses)
{
    float losses[MODEL_LOOPS_MAX];
    size_t loops = pass->model->shape.loops;
    kernels_get(pass->model->kernels, losses, pass->losses, loops * sizeof *losses);
    for (size_t i = 0; i < loops; i++)
        ret_losses[i] = (double)losses[i];
}

void pass_clear_losses(struct pass *pass)
{
    kernels_clear(pass->model->kernels, pass->losses,
                  pass->model->shape.loops * sizeof *pass->losses);
}
