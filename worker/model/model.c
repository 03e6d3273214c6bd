/* The layout of the weights, their first values and their updates. The passes are in pass.c. */
#include "worker/model/model.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "worker/model/random.h"
#include "worker/model/ranks.h"
#include "worker/model/rotary.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tensors in the order of `model->tensors`: the gains of the last norm and of each block, then the
 * tokens and the head, then the matrices of each block. A tensor that a model does not have is
 * empty. */
enum {
    BLOCK_QKV,
    BLOCK_OUT,
    BLOCK_UP,
    BLOCK_DOWN,
    BLOCK_MATRICES,
};

enum { DRAWN_AT_ONCE = 16384 };

int model_check(const struct model_shape *shape, size_t sequence, struct error *err)
{
    const struct {
        const char *name;
        uint32_t value, highest;
    } rows[] = {
        {"tokens", shape->vocabulary, MODEL_VOCABULARY_MAX},
        {"width", shape->width, MODEL_WIDTH_MAX},
        {"depth", shape->depth, MODEL_DEPTH_MAX},
        {"heads", shape->heads, MODEL_HEADS_MAX},
        {"kv-heads", shape->kv_heads, MODEL_HEADS_MAX},
        {"hidden", shape->hidden, MODEL_HIDDEN_MAX},
        {"loops", shape->loops, MODEL_LOOPS_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < 1 || rows[i].value > rows[i].highest)
            return error_set(err, -ERANGE, "there is no model with %s %u", rows[i].name,
                             rows[i].value);
    if (shape->width % shape->heads != 0)
        return error_set(err, -ERANGE, "heads %u does not divide width %u", shape->heads,
                         shape->width);
    if (shape->heads % shape->kv_heads != 0)
        return error_set(err, -ERANGE, "kv-heads %u does not divide heads %u", shape->kv_heads,
                         shape->heads);
    if (shape->width / shape->heads % 2 != 0)
        return error_set(err, -ERANGE,
                         "width %u and heads %u: rotary positions need heads of even width",
                         shape->width, shape->heads);
    if (shape->tied > 1)
        return error_set(err, -ERANGE, "there is no model with tied %u", shape->tied);
    return kernels_check(
        &(struct kernels_needs){
            .width = shape->width,
            .hidden = shape->hidden,
            .vocabulary = shape->vocabulary,
            .sequence = sequence,
            .heads = shape->heads,
            .kv_heads = shape->kv_heads,
            .head_width = shape->width / shape->heads,
        },
        err);
}

/* Returns the number of tensors before the first matrix of the blocks. */
static size_t tensors_before(size_t depth)
{
    return 1 + 2 * depth + 2;
}

/* Returns the place of a tensor in `model->tensors`. */
static size_t index_of_norm(size_t layer, size_t second)
{
    return 1 + 2 * layer + second;
}

static size_t index_of_tokens(const struct model *model)
{
    return 1 + 2 * model->shape.depth;
}

static size_t index_of_head(const struct model *model)
{
    return index_of_tokens(model) + (model->shape.tied ? 0 : 1);
}

/* Puts all tensors that are in no bucket yet into a new bucket. */
static void add_bucket(struct model *model, bool is_shared)
{
    struct model_bucket *last = model->buckets + model->bucket_count++;
    size_t first = last == model->buckets ? 0 : last[-1].first + last[-1].count;
    size_t count = model->parameters - first;
    struct ranks_part own = {0, count};
    if (is_shared)
        own = ranks_part(model->rank.rank, model->rank.size, count);
    *last =
        (struct model_bucket){first, count, first + own.first, own.count, model->state, is_shared};
    model->state += own.count;
}

double model_block_products(const struct model_shape *shape)
{
    double width = shape->width, head_width = width / shape->heads;
    return width * (width + 2 * shape->kv_heads * head_width) + width * width +
           3 * width * shape->hidden;
}

double model_operations(const struct model_shape *shape, size_t sequence)
{
    double head = (double)shape->width * shape->vocabulary;
    double attention = (double)shape->depth * shape->width * (double)sequence;
    return 6 * shape->loops * (shape->depth * model_block_products(shape) + head + attention);
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
    size_t width = shape->width, depth = shape->depth, hidden = shape->hidden;
    size_t table = shape->vocabulary * width;
    size_t qkv = (shape->heads + 2 * (size_t)shape->kv_heads) * (width / shape->heads);
    model->tensors =
        xcalloc(tensors_before(depth) + depth * BLOCK_MATRICES, sizeof *model->tensors);
    model->buckets = xcalloc(MODEL_BUCKET_BLOCKS + depth, sizeof *model->buckets);
    float spread = sqrtf(3.0f / (float)width);
    float writers = sqrtf((float)depth), inside = sqrtf(3.0f / (float)hidden);
    add_tensor(model, "norm", shape->loops == 1 ? width : 0, MODEL_GAIN, 0);
    for (size_t i = 0; i < depth; i++) {
        add_tensor(model, "norm1", width, MODEL_GAIN, 0);
        add_tensor(model, "norm2", width, MODEL_GAIN, 0);
    }
    add_bucket(model, false);
    /* Tied tokens are a head: they start as one, and learn like one. */
    if (shape->tied)
        add_tensor(model, "tokens", table, MODEL_MATRIX, 0.1f * spread);
    else
        add_tensor(model, "tokens", table, MODEL_EMBEDDING, 1.0f);
    add_tensor(model, "head", shape->tied ? 0 : table, MODEL_MATRIX, 0.1f * spread);
    add_bucket(model, true);
    for (size_t i = 0; i < depth; i++) {
        add_tensor(model, "qkv", width * qkv, MODEL_MATRIX, spread);
        add_tensor(model, "out", width * width, MODEL_MATRIX, spread / writers);
        add_tensor(model, "up", width * 2 * hidden, MODEL_MATRIX, spread);
        add_tensor(model, "down", hidden * width, MODEL_MATRIX, inside / writers);
        add_bucket(model, true);
    }
}

/* Whether the rounded weights are the master weights themselves. */
static bool has_one_array(void)
{
    return sizeof(kernel_number) == sizeof(float);
}

int model_init(struct model *model, struct kernels *kernels, const struct model_shape *shape,
               size_t sequence, enum model_use use, struct model_rank rank, struct error *err)
{
    *model =
        (struct model){.kernels = kernels, .shape = *shape, .rank = rank, .sequence = sequence};
    lay_out(model);
    size_t bytes = model->parameters * sizeof(float), head_width = shape->width / shape->heads;
    model->master = kernels_memory(kernels, bytes);
    model->weights = has_one_array()
                         ? (void *)model->master
                         : kernels_memory(kernels, model->parameters * sizeof *model->weights);
    model->turns = kernels_memory(kernels, sequence * head_width * sizeof(float));
    if (use == MODEL_TRAINS) {
        model->gradient = kernels_memory(kernels, bytes);
        model->moment1 = kernels_memory(kernels, model->state * sizeof(float));
        model->moment2 = kernels_memory(kernels, model->state * sizeof(float));
        model->square_sums = kernels_memory(kernels, MODEL_NORMS * sizeof *model->square_sums);
    }
    int status = kernels_status(kernels, err);
    if (status < 0)
        return status;
    float *turns = rotary_new(sequence, head_width);
    kernels_put(kernels, model->turns, turns, sequence * head_width * sizeof *turns);
    free(turns);
    return 0;
}

void model_fini(struct model *model)
{
    if (!model || !model->kernels)
        return;
    struct kernels *kernels = model->kernels;
    if (!has_one_array())
        kernels_release(kernels, model->weights);
    kernels_release(kernels, model->master);
    kernels_release(kernels, model->turns);
    kernels_release(kernels, model->gradient);
    kernels_release(kernels, model->moment1);
    kernels_release(kernels, model->moment2);
    kernels_release(kernels, model->square_sums);
    free(model->tensors);
    free(model->buckets);
    *model = (struct model){0};
}

void model_draw(struct model *model, uint64_t seed)
{
    float drawn[DRAWN_AT_ONCE];
    for (size_t t = 0; t < model->tensor_count; t++) {
        const struct model_tensor *tensor = &model->tensors[t];
        for (size_t done = 0; done < tensor->size; done += DRAWN_AT_ONCE) {
            size_t left = tensor->size - done, first = tensor->offset + done;
            size_t count = left < DRAWN_AT_ONCE ? left : DRAWN_AT_ONCE;
            for (size_t i = 0; i < count; i++)
                drawn[i] = tensor->group == MODEL_GAIN
                               ? 1.0f
                               : tensor->spread * random_signed_at(seed, first + i);
            kernels_put(model->kernels, model->master + first, drawn, count * sizeof *drawn);
        }
    }
    model_round(model);
}

void model_round(struct model *model)
{
    kernel_round(model->kernels, model->weights, model->master, model->parameters);
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
    kernels_clear(model->kernels, model->gradient, model->parameters * sizeof *model->gradient);
}

/* Returns where a matrix of a block begins. */
static size_t place(const struct model *model, size_t layer, size_t part)
{
    size_t before = tensors_before(model->shape.depth);
    return model->tensors[before + layer * BLOCK_MATRICES + part].offset;
}

static size_t place_of_norm(const struct model *model, size_t layer, size_t second)
{
    return model->tensors[index_of_norm(layer, second)].offset;
}

struct model_block model_block(const struct model *model, size_t layer)
{
    return (struct model_block){
        .norm1 = model->master + place_of_norm(model, layer, 0),
        .norm2 = model->master + place_of_norm(model, layer, 1),
        .qkv = model->weights + place(model, layer, BLOCK_QKV),
        .out = model->weights + place(model, layer, BLOCK_OUT),
        .up = model->weights + place(model, layer, BLOCK_UP),
        .down = model->weights + place(model, layer, BLOCK_DOWN),
    };
}

struct model_block_gradient model_block_gradient(struct model *model, size_t layer)
{
    return (struct model_block_gradient){
        .norm1 = model->gradient + place_of_norm(model, layer, 0),
        .norm2 = model->gradient + place_of_norm(model, layer, 1),
        .qkv = model->gradient + place(model, layer, BLOCK_QKV),
        .out = model->gradient + place(model, layer, BLOCK_OUT),
        .up = model->gradient + place(model, layer, BLOCK_UP),
        .down = model->gradient + place(model, layer, BLOCK_DOWN),
    };
}

struct model_ends model_ends(const struct model *model)
{
    return (struct model_ends){
        .norm = model->tensors[0].size ? model->master + model->tensors[0].offset : NULL,
        .tokens = model->weights + model->tensors[index_of_tokens(model)].offset,
        .head = model->weights + model->tensors[index_of_head(model)].offset,
    };
}

struct model_ends_gradient model_ends_gradient(struct model *model)
{
    return (struct model_ends_gradient){
        .norm = model->gradient + model->tensors[0].offset,
        .tokens = model->gradient + model->tensors[index_of_tokens(model)].offset,
        .head = model->gradient + model->tensors[index_of_head(model)].offset,
    };
}

struct kernel_attention_shape model_attention(const struct model_shape *shape, size_t batch,
                                              size_t sequence)
{
    return (struct kernel_attention_shape){
        .batch = batch,
        .sequence = sequence,
        .heads = shape->heads,
        .kv_heads = shape->kv_heads,
        .head_width = shape->width / shape->heads,
    };
}

void model_sum(struct model *model, size_t bucket)
{
    const struct model_bucket *summed = &model->buckets[bucket];
    float *values = model->gradient + summed->first;
    if (summed->is_shared)
        kernels_sum_parts(model->kernels, values, summed->count);
    else
        kernels_sum(model->kernels, values, summed->count);
}

static float *newest_square_sum(const struct model *model)
{
    return model->square_sums + model->measured % MODEL_NORMS;
}

int model_measure(struct model *model, struct error *err)
{
    int status = kernels_sums_end(model->kernels, err);
    if (status < 0)
        return status;
    model->measured++;
    float *square_sum = newest_square_sum(model);
    kernels_clear(model->kernels, square_sum, sizeof *square_sum);
    for (size_t i = 0; i < model->bucket_count; i++) {
        const struct model_bucket *bucket = &model->buckets[i];
        struct ranks_part part = ranks_part(model->rank.rank, model->rank.size, bucket->count);
        if (part.count > 0)
            kernel_square_sum(model->kernels, square_sum,
                              model->gradient + bucket->first + part.first, part.count);
    }
    kernels_sum(model->kernels, square_sum, 1);
    return kernels_sums_end(model->kernels, err);
}

double model_norm(const struct model *model)
{
    float square_sum;
    kernels_get(model->kernels, &square_sum, newest_square_sum(model), sizeof square_sum);
    return sqrt((double)square_sum);
}

size_t model_skipped(struct model *model)
{
    float square_sums[MODEL_NORMS];
    size_t skipped = 0, since = model->measured - model->looked;
    kernels_get(model->kernels, square_sums, model->square_sums, sizeof square_sums);
    for (size_t i = 0; i < since && i < MODEL_NORMS; i++)
        if (!isfinite(square_sums[(model->measured - i) % MODEL_NORMS]))
            skipped++;
    model->looked = model->measured;
    return skipped;
}

/* Updates those weights of a tensor that this rank has moments for. */
static void update_tensor(struct model *model, const struct model_bucket *bucket,
                          const struct model_tensor *tensor, const struct kernel_adamw_step *step)
{
    size_t own_end = bucket->own_first + bucket->own_count, end = tensor->offset + tensor->size;
    size_t first = tensor->offset > bucket->own_first ? tensor->offset : bucket->own_first;
    end = end < own_end ? end : own_end;
    if (first >= end)
        return;
    size_t state = bucket->state + first - bucket->own_first;
    kernel_adamw(model->kernels, model->master + first, model->weights + first,
                 model->moment1 + state, model->moment2 + state, model->gradient + first,
                 end - first, newest_square_sum(model), step);
}

int model_update(struct model *model, uint64_t step, const struct model_rates *rates,
                 struct error *err)
{
    const double beta1 = 0.9, beta2 = 0.95;
    const struct model_bucket *bucket = model->buckets;
    struct kernel_adamw_step adamw = {
        .beta1 = (float)beta1,
        .beta2 = (float)beta2,
        .epsilon = 1e-8f,
        .correction1 = (float)(1 - pow(beta1, (double)step)),
        .correction2 = (float)(1 - pow(beta2, (double)step)),
        .clip = rates->clip,
    };
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct model_tensor *tensor = &model->tensors[i];
        while (tensor->offset >= bucket->first + bucket->count && tensor->size > 0)
            bucket++;
        adamw.rate = tensor->group == MODEL_EMBEDDING ? rates->embedding : rates->matrix;
        adamw.decay = tensor->group == MODEL_MATRIX ? rates->decay : 0;
        update_tensor(model, bucket, tensor, &adamw);
    }
    for (size_t i = 0; i < model->bucket_count; i++)
        if (model->buckets[i].is_shared)
            kernels_gather(model->kernels, model->weights + model->buckets[i].first,
                           model->buckets[i].count);
    return kernels_sums_end(model->kernels, err);
}
