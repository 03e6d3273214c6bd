/* Computes one token for a batch of sequences, on one rank of a group. */
#include "worker/model/decode.h"

#include "worker/model/group.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct decode {
    const struct model *model;
    struct group *group;
    size_t batch_max, length_max, batch, length;
    size_t heads, first_head;      /* heads of this rank */
    size_t head_width, width;      /* width: of all heads of this rank */
    float *keys, *values;          /* [loops x depth][batch_max][heads][length_max][head_width] */
    float *state, *normed, *scale; /* whole rows: batch_max x the width of the model */
    float *qkv, *attended; /* the part of this rank; qkv is three arrays of batch_max x width */
    float *wide, *parts;   /* wide: inside the MLP; parts: one product for each head */
    float *logits, *scratch;
};

static float *allocate(size_t count)
{
    float *memory = calloc(count, sizeof *memory);
    if (!memory)
        abort();
    return memory;
}

struct decode *decode_new(const struct model *model, struct group *group, size_t batch_max,
                          size_t length_max)
{
    const struct model_shape *shape = &model->shape;
    struct decode *decode = calloc(1, sizeof *decode);
    if (!decode)
        abort();
    assert(shape->heads % group->size == 0 && (shape->heads & (shape->heads - 1)) == 0);
    decode->model = model;
    decode->group = group;
    decode->batch_max = batch_max;
    decode->length_max = length_max;
    decode->heads = shape->heads / group->size;
    decode->first_head = decode->heads * group->rank;
    decode->head_width = shape->width / shape->heads;
    decode->width = decode->heads * decode->head_width;
    size_t area = batch_max * shape->width, own = batch_max * decode->width;
    size_t kept = (size_t)shape->loops * shape->depth * own * length_max;
    decode->keys = allocate(kept);
    decode->values = allocate(kept);
    decode->state = allocate(area);
    decode->normed = allocate(area);
    decode->scale = allocate(batch_max);
    decode->qkv = allocate(3 * own);
    decode->attended = allocate(own);
    decode->wide = allocate(MODEL_MLP_RATIO * own);
    decode->parts = allocate(decode->heads * area);
    decode->logits = allocate(batch_max * MODEL_VOCABULARY);
    decode->scratch = allocate(length_max);
    return decode;
}

void decode_free(struct decode *decode)
{
    if (!decode)
        return;
    free(decode->keys);
    free(decode->values);
    free(decode->state);
    free(decode->normed);
    free(decode->scale);
    free(decode->qkv);
    free(decode->attended);
    free(decode->wide);
    free(decode->parts);
    free(decode->logits);
    free(decode->scratch);
    free(decode);
}

void decode_begin(struct decode *decode, size_t batch)
{
    assert(batch <= decode->batch_max);
    decode->batch = batch;
    decode->length = 0;
}

/* Returns where the head of a sequence keeps its rows, in `keys` and `values`. */
static size_t place(const struct decode *decode, size_t layer, size_t sequence, size_t head)
{
    size_t rows = (layer * decode->batch_max + sequence) * decode->heads + head;
    return rows * decode->length_max * decode->head_width;
}

static void attend(struct decode *decode, size_t layer)
{
    size_t own = decode->batch_max * decode->width, size = decode->head_width;
    for (size_t row = 0; row < decode->batch; row++) {
        for (size_t head = 0; head < decode->heads; head++) {
            size_t part = row * decode->width + head * size;
            size_t kept = place(decode, layer, row, head), newest = kept + decode->length * size;
            memcpy(decode->keys + newest, decode->qkv + own + part, size * sizeof(float));
            memcpy(decode->values + newest, decode->qkv + 2 * own + part, size * sizeof(float));
            kernel_attention_newest(decode->attended + part, decode->qkv + part,
                                    decode->keys + kept, decode->values + kept, decode->scratch,
                                    decode->length + 1, decode->first_head + head, size);
        }
    }
}

/* Adds to the state: `input`[batch x heads * slice] times the rows of this rank of `matrix`[... x
 * width], summed over the group. */
static int add_product(struct decode *decode, const float *input, const float *matrix, size_t slice,
                       struct error *err)
{
    size_t width = decode->model->shape.width, stride = decode->heads * slice;
    size_t area = decode->batch * width;
    for (size_t head = 0; head < decode->heads; head++)
        kernel_product(decode->parts + head * area, width,
                       (struct kernel_view){input + head * slice, stride, 1},
                       matrix + (decode->first_head + head) * slice * width, width, decode->batch,
                       slice, width, KERNEL_SET);
    for (size_t distance = 1; distance < decode->heads; distance *= 2)
        for (size_t head = 0; head < decode->heads; head += 2 * distance)
            kernel_sum(decode->parts + head * area, decode->parts + head * area,
                       decode->parts + (head + distance) * area, area);
    int result = group_sum(decode->group, decode->parts, area, err);
    if (result == 0)
        kernel_sum(decode->state, decode->state, decode->parts, area);
    return result;
}

/* output[batch x `columns`] = the normed state times these columns of a matrix. */
static void take_columns(struct decode *decode, float *output, const float *matrix, size_t stride,
                         size_t columns)
{
    size_t width = decode->model->shape.width;
    kernel_product(output, columns, (struct kernel_view){decode->normed, width, 1}, matrix, stride,
                   decode->batch, width, columns, KERNEL_SET);
}

/* `layer` counts the blocks of all loops. */
static int run_block(struct decode *decode, size_t layer, struct error *err)
{
    const struct model_shape *shape = &decode->model->shape;
    struct model_block block = model_block(decode->model, layer % shape->depth);
    size_t width = shape->width, own = decode->width, first = decode->first_head;
    kernel_rmsnorm(decode->normed, decode->scale, decode->state, block.norm1, decode->batch, width);
    for (size_t part = 0; part < 3; part++)
        take_columns(decode, decode->qkv + part * decode->batch_max * own,
                     block.qkv + part * width + first * decode->head_width, 3 * width, own);
    attend(decode, layer);
    int result = add_product(decode, decode->attended, block.out, decode->head_width, err);
    if (result < 0)
        return result;
    size_t slice = MODEL_MLP_RATIO * decode->head_width, inside = decode->heads * slice;
    kernel_rmsnorm(decode->normed, decode->scale, decode->state, block.norm2, decode->batch, width);
    take_columns(decode, decode->wide, block.up + first * slice, MODEL_MLP_RATIO * width, inside);
    kernel_relu2(decode->wide, decode->wide, decode->batch * inside);
    return add_product(decode, decode->wide, block.down, slice, err);
}

int decode_step(struct decode *decode, const uint8_t *ids, const float **ret_logits,
                struct error *err)
{
    const struct model *model = decode->model;
    size_t width = model->shape.width, layers = (size_t)model->shape.loops * model->shape.depth;
    assert(decode->length < decode->length_max);
    kernel_embed(decode->state, ids, model_tokens(model), decode->batch, width);
    for (size_t layer = 0; layer < layers; layer++) {
        int result = run_block(decode, layer, err);
        if (result < 0)
            return result;
    }
    kernel_matmul(decode->logits, decode->state, model_head(model), decode->batch, width,
                  MODEL_VOCABULARY);
    decode->length++;
    *ret_logits = decode->logits;
    return 0;
}
