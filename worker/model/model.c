/* The layout of the weights, and the forward and backward passes through loops and blocks. */
#include "worker/model/model.h"

#include "worker/model/kernels.h"
#include "worker/model/random.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Tensors in the order of `model->tensors`: first those of the whole model, then those of each
 * block. */
enum {
    TENSOR_TOKENS,
    TENSOR_HEAD,
    TENSOR_BLOCKS,
};
enum {
    BLOCK_NORM1,
    BLOCK_QKV,
    BLOCK_OUT,
    BLOCK_NORM2,
    BLOCK_UP,
    BLOCK_DOWN,
    BLOCK_TENSORS,
};

/* What one application of one block keeps for its backward pass. */
struct block_kept {
    float *input, *norm1, *scale1, *qkv, *p, *attended;
    float *middle, *norm2, *scale2, *up, *act;
};

struct model_activations {
    float *memory;             /* contains all arrays below */
    struct block_kept *blocks; /* loops * depth */
    float **states;            /* loops + 1: the embedding, then the result of each loop */
    float *logits;
    float **dstates; /* loops: the gradient that the loss of each loop gives to its state */
    float *dstate, *dmiddle, *dnormed, *dqkv, *dwide;
    float *scratch, *transposed;
};

static float *allocate(size_t count)
{
    float *memory = calloc(count, sizeof *memory);
    if (!memory)
        abort();
    return memory;
}

static void add_tensor(struct model *model, const char *name, size_t size, enum model_group group,
                       float spread)
{
    model->tensors[model->tensor_count++] =
        (struct model_tensor){name, model->parameters, size, group, spread};
    model->parameters += size;
}

/* Matrices start uniform with a deviation of 1 / sqrt(inputs). Matrices that write into the state
 * are smaller by the root of the depth, but not by the number of loops: loops only become different
 * if the first steps are large. A small head lets every loop start near a plain guess. */
static void lay_out(struct model *model)
{
    const struct model_shape *shape = &model->shape;
    size_t width = shape->width, depth = shape->depth;
    model->tensors = calloc(TENSOR_BLOCKS + depth * BLOCK_TENSORS, sizeof *model->tensors);
    if (!model->tensors)
        abort();
    float spread = sqrtf(3.0f / (float)width);
    float writers = sqrtf((float)depth);
    add_tensor(model, "tokens", MODEL_VOCABULARY * width, MODEL_EMBEDDING, 1.0f);
    add_tensor(model, "head", width * MODEL_VOCABULARY, MODEL_MATRIX, 0.1f * spread);
    for (size_t i = 0; i < depth; i++) {
        add_tensor(model, "norm1", width, MODEL_GAIN, 0);
        add_tensor(model, "qkv", width * 3 * width, MODEL_MATRIX, spread);
        add_tensor(model, "out", width * width, MODEL_MATRIX, spread / writers);
        add_tensor(model, "norm2", width, MODEL_GAIN, 0);
        add_tensor(model, "up", width * MODEL_MLP_RATIO * width, MODEL_MATRIX, spread);
        add_tensor(model, "down", MODEL_MLP_RATIO * width * width, MODEL_MATRIX,
                   spread / 2 / writers);
    }
}

static struct kernel_attention_shape attention_shape(const struct model *model, size_t batch)
{
    return (struct kernel_attention_shape){batch, model->sequence, model->shape.heads,
                                           model->shape.width};
}

/* Hands out consecutive arrays. If `memory` is NULL, it only counts. */
struct arena {
    float *memory;
    size_t used;
};

static float *arena_take(struct arena *arena, size_t count)
{
    float *array = arena->memory ? arena->memory + arena->used : NULL;
    arena->used += (count + 15) & ~(size_t)15;
    return array;
}

static void place_block(struct block_kept *kept, struct arena *arena,
                        const struct kernel_attention_shape *shape)
{
    size_t rows = shape->batch * shape->sequence, area = rows * shape->width;
    *kept = (struct block_kept){
        .norm1 = arena_take(arena, area),
        .scale1 = arena_take(arena, rows),
        .qkv = arena_take(arena, 3 * area),
        .p = arena_take(arena, rows * shape->heads * shape->sequence),
        .attended = arena_take(arena, area),
        .middle = arena_take(arena, area),
        .norm2 = arena_take(arena, area),
        .scale2 = arena_take(arena, rows),
        .up = arena_take(arena, MODEL_MLP_RATIO * area),
        .act = arena_take(arena, MODEL_MLP_RATIO * area),
        .input = arena_take(arena, area),
    };
}

static void place_activations(const struct model *model, struct arena *arena)
{
    struct model_activations *kept = model->activations;
    const struct model_shape *shape = &model->shape;
    struct kernel_attention_shape attention = attention_shape(model, model->batch_max);
    size_t rows = model->batch_max * model->sequence, area = rows * shape->width;
    for (size_t i = 0; i < (size_t)shape->loops * shape->depth; i++)
        place_block(&kept->blocks[i], arena, &attention);
    for (size_t i = 0; i <= shape->loops; i++)
        kept->states[i] = arena_take(arena, area);
    for (size_t i = 0; i < shape->loops; i++)
        kept->dstates[i] = arena_take(arena, area);
    kept->logits = arena_take(arena, rows * MODEL_VOCABULARY);
    kept->dstate = arena_take(arena, area);
    kept->dmiddle = arena_take(arena, area);
    kept->dnormed = arena_take(arena, area);
    kept->dqkv = arena_take(arena, 3 * area);
    kept->dwide = arena_take(arena, MODEL_MLP_RATIO * area);
    kept->scratch = arena_take(arena, kernel_attention_scratch(&attention));
    size_t widest = (size_t)shape->width * MODEL_MLP_RATIO;
    widest = widest > MODEL_VOCABULARY ? widest : MODEL_VOCABULARY;
    kept->transposed = arena_take(arena, shape->width * widest);
}

void model_init(struct model *model, const struct model_shape *shape, size_t batch_max,
                size_t sequence)
{
    assert(shape->loops >= 1 && shape->loops <= MODEL_LOOPS_MAX);
    assert(shape->heads >= 1 && shape->width % shape->heads == 0);
    *model = (struct model){.shape = *shape, .batch_max = batch_max, .sequence = sequence};
    lay_out(model);
    model->weights = allocate(model->parameters);
    model->gradient = allocate(model->parameters);
    model->moment1 = allocate(model->parameters);
    model->moment2 = allocate(model->parameters);
    struct model_activations *kept = calloc(1, sizeof *kept);
    if (!kept)
        abort();
    model->activations = kept;
    kept->blocks = calloc((size_t)shape->loops * shape->depth, sizeof *kept->blocks);
    kept->states = calloc(shape->loops + 1, sizeof *kept->states);
    kept->dstates = calloc(shape->loops, sizeof *kept->dstates);
    if (!kept->blocks || !kept->states || !kept->dstates)
        abort();
    struct arena arena = {0};
    place_activations(model, &arena);
    kept->memory = arena.memory = allocate(arena.used);
    arena.used = 0;
    place_activations(model, &arena);
}

void model_fini(struct model *model)
{
    if (!model)
        return;
    if (model->activations) {
        free(model->activations->memory);
        free(model->activations->blocks);
        free(model->activations->states);
        free(model->activations->dstates);
    }
    free(model->activations);
    free(model->tensors);
    free(model->weights);
    free(model->gradient);
    free(model->moment1);
    free(model->moment2);
    *model = (struct model){0};
}

void model_draw(struct model *model, uint64_t seed)
{
    for (size_t t = 0; t < model->tensor_count; t++) {
        const struct model_tensor *tensor = &model->tensors[t];
        for (size_t i = tensor->offset; i < tensor->offset + tensor->size; i++) {
            bool gain = tensor->group == MODEL_GAIN;
            model->weights[i] = gain ? 1.0f : tensor->spread * random_signed_at(seed, i);
        }
    }
}

void model_loop_weights(float *ret_weights, size_t loops, double base)
{
    double sum = 0;
    for (size_t i = 0; i < loops; i++)
        sum += pow(base, (double)i);
    for (size_t i = 0; i < loops; i++)
        ret_weights[i] = (float)(pow(base, (double)i) / sum);
}

void model_clear_gradient(struct model *model)
{
    memset(model->gradient, 0, model->parameters * sizeof *model->gradient);
}

/* Returns the tensors of one block, within an array with the layout of the weights. */
static float *block_part(const struct model *model, float *array, size_t layer, size_t part)
{
    return array + model->tensors[TENSOR_BLOCKS + layer * BLOCK_TENSORS + part].offset;
}

static float *whole_part(const struct model *model, float *array, size_t part)
{
    return array + model->tensors[part].offset;
}

struct model_block model_block(const struct model *model, size_t layer)
{
    return (struct model_block){
        .norm1 = block_part(model, model->weights, layer, BLOCK_NORM1),
        .qkv = block_part(model, model->weights, layer, BLOCK_QKV),
        .out = block_part(model, model->weights, layer, BLOCK_OUT),
        .norm2 = block_part(model, model->weights, layer, BLOCK_NORM2),
        .up = block_part(model, model->weights, layer, BLOCK_UP),
        .down = block_part(model, model->weights, layer, BLOCK_DOWN),
    };
}

const float *model_tokens(const struct model *model)
{
    return whole_part(model, model->weights, TENSOR_TOKENS);
}

const float *model_head(const struct model *model)
{
    return whole_part(model, model->weights, TENSOR_HEAD);
}

/* state = state + attention(norm(state)), then state = state + mlp(norm(state)). */
static void block_forward(struct model *model, struct block_kept *kept, size_t layer,
                          const float *input, float *output, size_t batch)
{
    size_t width = model->shape.width, rows = batch * model->sequence, area = rows * width;
    struct kernel_attention_shape attention = attention_shape(model, batch);
    float *weights[BLOCK_TENSORS];
    for (size_t i = 0; i < BLOCK_TENSORS; i++)
        weights[i] = block_part(model, model->weights, layer, i);

    memcpy(kept->input, input, area * sizeof *input);
    kernel_rmsnorm(kept->norm1, kept->scale1, input, weights[BLOCK_NORM1], rows, width);
    kernel_matmul(kept->qkv, kept->norm1, weights[BLOCK_QKV], rows, width, 3 * width);
    kernel_attention(kept->attended, kept->p, kept->qkv, model->activations->scratch, &attention);
    kernel_matmul(kept->middle, kept->attended, weights[BLOCK_OUT], rows, width, width);
    kernel_sum(kept->middle, kept->middle, input, area);

    kernel_rmsnorm(kept->norm2, kept->scale2, kept->middle, weights[BLOCK_NORM2], rows, width);
    kernel_matmul(kept->up, kept->norm2, weights[BLOCK_UP], rows, width, MODEL_MLP_RATIO * width);
    kernel_relu2(kept->act, kept->up, MODEL_MLP_RATIO * area);
    kernel_matmul(output, kept->act, weights[BLOCK_DOWN], rows, MODEL_MLP_RATIO * width, width);
    kernel_sum(output, output, kept->middle, area);
}

/* `dstate` is the gradient of the output of the block, and becomes the gradient of its input. */
static void block_backward(struct model *model, const struct block_kept *kept, size_t layer,
                           float *dstate, size_t batch)
{
    struct model_activations *temporary = model->activations;
    size_t width = model->shape.width, rows = batch * model->sequence, area = rows * width;
    struct kernel_attention_shape attention = attention_shape(model, batch);
    float *weights[BLOCK_TENSORS], *gradient[BLOCK_TENSORS];
    for (size_t i = 0; i < BLOCK_TENSORS; i++) {
        weights[i] = block_part(model, model->weights, layer, i);
        gradient[i] = block_part(model, model->gradient, layer, i);
    }
    float *dwide = temporary->dwide, *dnormed = temporary->dnormed, *dqkv = temporary->dqkv;
    float *transposed = temporary->transposed;

    kernel_matmul_backward(dwide, gradient[BLOCK_DOWN], dstate, kept->act, weights[BLOCK_DOWN],
                           transposed, rows, MODEL_MLP_RATIO * width, width);
    kernel_relu2_backward(dwide, dwide, kept->up, MODEL_MLP_RATIO * area);
    kernel_matmul_backward(dnormed, gradient[BLOCK_UP], dwide, kept->norm2, weights[BLOCK_UP],
                           transposed, rows, width, MODEL_MLP_RATIO * width);
    kernel_rmsnorm_backward(dstate, gradient[BLOCK_NORM2], dnormed, kept->middle,
                            weights[BLOCK_NORM2], kept->scale2, rows, width);

    float *dattended = temporary->dmiddle;
    kernel_matmul_backward(dattended, gradient[BLOCK_OUT], dstate, kept->attended,
                           weights[BLOCK_OUT], transposed, rows, width, width);
    kernel_attention_backward(dqkv, dattended, kept->p, kept->qkv, temporary->scratch, &attention);
    kernel_matmul_backward(dnormed, gradient[BLOCK_QKV], dqkv, kept->norm1, weights[BLOCK_QKV],
                           transposed, rows, width, 3 * width);
    kernel_rmsnorm_backward(dstate, gradient[BLOCK_NORM1], dnormed, kept->input,
                            weights[BLOCK_NORM1], kept->scale1, rows, width);
}

/* Runs the blocks of all loops. states[loop + 1] is the result of each loop. */
static void run_loops(struct model *model, const uint8_t *ids, size_t batch)
{
    struct model_activations *kept = model->activations;
    const struct model_shape *shape = &model->shape;
    kernel_embed(kept->states[0], ids, whole_part(model, model->weights, TENSOR_TOKENS),
                 batch * model->sequence, shape->width);
    for (size_t loop = 0; loop < shape->loops; loop++) {
        const float *input = kept->states[loop];
        for (size_t layer = 0; layer < shape->depth; layer++) {
            block_forward(model, &kept->blocks[loop * shape->depth + layer], layer, input,
                          kept->states[loop + 1], batch);
            input = kept->states[loop + 1];
        }
    }
}

/* Applies the head to the state of one loop. Returns the sum of its losses, and leaves the gradient
 * of the logits in `logits`. */
static double read_state(struct model *model, size_t loop, const uint8_t *targets, size_t batch,
                         float scale)
{
    struct model_activations *kept = model->activations;
    size_t width = model->shape.width, rows = batch * model->sequence;
    kernel_matmul(kept->logits, kept->states[loop + 1],
                  whole_part(model, model->weights, TENSOR_HEAD), rows, width, MODEL_VOCABULARY);
    return kernel_cross_entropy(kept->logits, targets, scale, rows, MODEL_VOCABULARY);
}

static void read_state_backward(struct model *model, size_t loop, size_t batch)
{
    struct model_activations *kept = model->activations;
    size_t width = model->shape.width, rows = batch * model->sequence;
    kernel_matmul_backward(kept->dstates[loop], whole_part(model, model->gradient, TENSOR_HEAD),
                           kept->logits, kept->states[loop + 1],
                           whole_part(model, model->weights, TENSOR_HEAD), kept->transposed, rows,
                           width, MODEL_VOCABULARY);
}

void model_learn(struct model *model, const uint8_t *ids, const uint8_t *targets, size_t batch,
                 const float *scales, double *losses)
{
    assert(batch <= model->batch_max);
    struct model_activations *kept = model->activations;
    const struct model_shape *shape = &model->shape;
    size_t area = batch * model->sequence * shape->width;
    run_loops(model, ids, batch);
    for (size_t loop = 0; loop < shape->loops; loop++) {
        losses[loop] += read_state(model, loop, targets, batch, scales[loop]);
        read_state_backward(model, loop, batch);
    }
    memset(kept->dstate, 0, area * sizeof *kept->dstate);
    for (size_t loop = shape->loops; loop-- > 0;) {
        kernel_sum(kept->dstate, kept->dstate, kept->dstates[loop], area);
        for (size_t layer = shape->depth; layer-- > 0;)
            block_backward(model, &kept->blocks[loop * shape->depth + layer], layer, kept->dstate,
                           batch);
    }
    kernel_embed_backward(whole_part(model, model->gradient, TENSOR_TOKENS), kept->dstate, ids,
                          batch * model->sequence, shape->width);
}

void model_evaluate(struct model *model, const uint8_t *ids, const uint8_t *targets, size_t batch,
                    double *losses)
{
    assert(batch <= model->batch_max);
    run_loops(model, ids, batch);
    for (size_t loop = 0; loop < model->shape.loops; loop++)
        losses[loop] += read_state(model, loop, targets, batch, 0);
}

void model_update(struct model *model, uint64_t step, const struct model_rates *rates)
{
    const double beta1 = 0.9, beta2 = 0.95;
    struct kernel_adamw_step adamw = {
        .beta1 = (float)beta1,
        .beta2 = (float)beta2,
        .epsilon = 1e-8f,
        .correction1 = (float)(1 - pow(beta1, (double)step)),
        .correction2 = (float)(1 - pow(beta2, (double)step)),
        .gradient_scale = rates->gradient_scale,
    };
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct model_tensor *tensor = &model->tensors[i];
        adamw.rate = tensor->group == MODEL_EMBEDDING ? rates->embedding : rates->matrix;
        adamw.decay = tensor->group == MODEL_MATRIX ? rates->decay : 0;
        kernel_adamw(model->weights + tensor->offset, model->moment1 + tensor->offset,
                     model->moment2 + tensor->offset, model->gradient + tensor->offset,
                     tensor->size, &adamw);
    }
}
