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

enum { FILLED_AT_ONCE = 64 * 1024 };

struct kernels_needs model_needs(const struct model_shape *shape, size_t sequence)
{
    return (struct kernels_needs){
        .width = shape->width,
        .hidden = shape->hidden,
        .vocabulary = shape->vocabulary,
        .sequence = sequence,
        .heads = shape->heads,
        .kv_heads = shape->kv_heads,
        .head_width = shape->width / shape->heads,
    };
}

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
    struct kernels_needs needs = model_needs(shape, sequence);
    return kernels_check(&needs, err);
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

double model_mfu_operations(const struct model_shape *shape, size_t sequence)
{
    double attention = (double)shape->depth * shape->width * (double)sequence;
    return model_operations(shape, sequence) + 6 * shape->loops * attention;
}

/* Returns which units of a piece this model has. */
static struct ranks_part share_of(const struct model *model, const struct model_cut *cut,
                                  size_t piece)
{
    unsigned rank = model->rank.rank, size = model->rank.size;
    size_t count = cut->pieces[piece];
    if (model->use == MODEL_TRAINS || cut->sharing == MODEL_WHOLE)
        return (struct ranks_part){0, count};
    if (cut->sharing == MODEL_RANKS_PART)
        return ranks_part(rank, size, count);
    assert(count % size == 0);
    return (struct ranks_part){rank * (count / size), count / size};
}

static void add_tensor(struct model *model, const char *name, struct model_cut cut,
                       enum model_group group, float spread)
{
    struct model_tensor *tensor = &model->tensors[model->tensor_count++];
    *tensor = (struct model_tensor){
        name, model->parameters, 0, model->kept, group, spread, cut,
    };
    for (size_t i = 0; i < MODEL_PIECES; i++) {
        tensor->size += cut.rows * cut.unit * cut.pieces[i];
        model->kept += cut.rows * cut.unit * share_of(model, &cut, i).count;
    }
    model->parameters += tensor->size;
}

static struct model_cut whole(size_t size)
{
    return (struct model_cut){MODEL_WHOLE, 1, size, {1}};
}

/* Matrices start uniform with a deviation of 1 / sqrt(inputs). Matrices that write into the state
 * are smaller by the root of the depth, but not by the number of loops: loops only become different
 * if the first steps are large. A small head lets every loop start near a plain guess. */
static void lay_out(struct model *model)
{
    const struct model_shape *shape = &model->shape;
    size_t width = shape->width, depth = shape->depth, hidden = shape->hidden;
    size_t heads = shape->heads, kv_heads = shape->kv_heads, head_width = width / heads;
    size_t vocabulary = shape->vocabulary;
    const struct model_cut table = whole(vocabulary * width), gain = whole(width);
    const struct model_cut head = {MODEL_RANKS_PART, 1, width, {shape->tied ? 0 : vocabulary}};
    const struct model_cut qkv = {MODEL_EVENLY, width, head_width, {heads, kv_heads, kv_heads}};
    const struct model_cut out = {MODEL_EVENLY, 1, head_width * width, {heads}};
    const struct model_cut up = {MODEL_EVENLY, width, 1, {hidden, hidden}};
    const struct model_cut down = {MODEL_EVENLY, 1, width, {hidden}};
    model->tensors =
        xcalloc(tensors_before(depth) + depth * BLOCK_MATRICES, sizeof *model->tensors);
    model->is_cleared = xcalloc(depth + 1, sizeof *model->is_cleared);
    model->buckets = xcalloc(MODEL_BUCKET_BLOCKS + depth, sizeof *model->buckets);
    float spread = sqrtf(3.0f / (float)width);
    float writers = sqrtf((float)depth), inside = sqrtf(3.0f / (float)hidden);
    add_tensor(model, "norm", shape->loops == 1 ? gain : whole(0), MODEL_GAIN, 0);
    for (size_t i = 0; i < depth; i++) {
        add_tensor(model, "norm1", gain, MODEL_GAIN, 0);
        add_tensor(model, "norm2", gain, MODEL_GAIN, 0);
    }
    add_bucket(model, false);
    /* Tied tokens are a head: they start as one, and learn like one. */
    if (shape->tied)
        add_tensor(model, "tokens", table, MODEL_MATRIX, 0.1f * spread);
    else
        add_tensor(model, "tokens", table, MODEL_EMBEDDING, 1.0f);
    add_tensor(model, "head", head, MODEL_MATRIX, 0.1f * spread);
    add_bucket(model, true);
    for (size_t i = 0; i < depth; i++) {
        add_tensor(model, "qkv", qkv, MODEL_MATRIX, spread);
        add_tensor(model, "out", out, MODEL_MATRIX, spread / writers);
        add_tensor(model, "up", up, MODEL_MATRIX, spread);
        add_tensor(model, "down", down, MODEL_MATRIX, inside / writers);
        add_bucket(model, true);
    }
}

/* Whether the rounded weights are the master weights themselves. */
static bool has_one_array(const struct model *model)
{
    return model->use == MODEL_TRAINS && sizeof(kernel_number) == sizeof(float);
}

int model_init(struct model *model, struct kernels *kernels, const struct model_shape *shape,
               size_t sequence, enum model_use use, struct model_rank rank, struct error *err)
{
    *model = (struct model){
        .kernels = kernels, .shape = *shape, .use = use, .rank = rank, .sequence = sequence};
    lay_out(model);
    size_t bytes = model->parameters * sizeof(float), head_width = shape->width / shape->heads;
    size_t gains = model->buckets[MODEL_BUCKET_GAINS].count * sizeof(float);
    model->master = kernels_memory(kernels, use == MODEL_TRAINS ? bytes : gains);
    model->weights = has_one_array(model)
                         ? (void *)model->master
                         : kernels_memory(kernels, model->kept * sizeof *model->weights);
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
    if (!has_one_array(model))
        kernels_release(kernels, model->weights);
    kernels_release(kernels, model->master);
    kernels_release(kernels, model->turns);
    kernels_release(kernels, model->gradient);
    kernels_release(kernels, model->moment1);
    kernels_release(kernels, model->moment2);
    kernels_release(kernels, model->square_sums);
    free(model->tensors);
    free(model->buckets);
    free(model->is_cleared);
    *model = (struct model){0};
}

struct filling {
    struct model *model;
    model_reader *read;
    void *context;
    float *values; /* [FILLED_AT_ONCE] */
    kernel_number *rounded;
    size_t place, count; /* of the values in the weights of the model */
};

static void put_filled(struct filling *filling, const struct model_tensor *tensor)
{
    struct model *model = filling->model;
    size_t count = filling->count;
    if (model->use == MODEL_TRAINS || tensor->group == MODEL_GAIN)
        kernels_put(model->kernels, model->master + filling->place, filling->values,
                    count * sizeof *filling->values);
    if (model->use == MODEL_DECODES) { /* there is no memory for floats that a GPU could round */
        for (size_t i = 0; i < count; i++)
            filling->rounded[i] = kernel_number_of(filling->values[i]);
        kernels_put(model->kernels, model->weights + filling->place, filling->rounded,
                    count * sizeof *filling->rounded);
    }
    filling->place += count;
    filling->count = 0;
}

static void fill_run(struct filling *filling, const struct model_tensor *tensor, size_t first,
                     size_t count)
{
    for (size_t done = 0; done < count;) {
        size_t room = FILLED_AT_ONCE - filling->count, left = count - done;
        size_t some = left < room ? left : room;
        filling->read(filling->context, tensor, first + done, some,
                      filling->values + filling->count);
        filling->count += some;
        done += some;
        if (some == room)
            put_filled(filling, tensor);
    }
}

void model_fill(struct model *model, model_reader *read, void *context)
{
    struct filling filling = {model, read, context, .place = 0};
    filling.values = xcalloc(FILLED_AT_ONCE, sizeof *filling.values);
    filling.rounded = xcalloc(FILLED_AT_ONCE, sizeof *filling.rounded);
    for (size_t t = 0; t < model->tensor_count; t++) {
        const struct model_tensor *tensor = &model->tensors[t];
        const struct model_cut *cut = &tensor->cut;
        size_t first = tensor->offset;
        for (size_t run = 0; run < cut->rows * MODEL_PIECES; run++) {
            size_t piece = run % MODEL_PIECES;
            struct ranks_part share = share_of(model, cut, piece);
            fill_run(&filling, tensor, first + share.first * cut->unit, share.count * cut->unit);
            first += cut->pieces[piece] * cut->unit;
        }
        put_filled(&filling, tensor);
    }
    free(filling.values);
    free(filling.rounded);
    if (model->use == MODEL_TRAINS)
        kernel_round(model->kernels, model->weights, model->master, model->parameters);
}

/* A model_reader. */
static void read_drawn(void *context, const struct model_tensor *tensor, size_t first, size_t count,
                       float *ret_values)
{
    const uint64_t *seed = context;
    for (size_t i = 0; i < count; i++)
        ret_values[i] = tensor->group == MODEL_GAIN
                            ? 1.0f
                            : tensor->spread * random_signed_at(*seed, first + i);
}

void model_draw(struct model *model, uint64_t seed)
{
    model_fill(model, read_drawn, &seed);
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
    const struct model_bucket *gains = &model->buckets[MODEL_BUCKET_GAINS];
    const struct model_tensor *tokens = &model->tensors[index_of_tokens(model)];
    kernels_clear(model->kernels, model->gradient + gains->first,
                  gains->count * sizeof *model->gradient);
    if (!model->shape.tied)
        kernels_clear(model->kernels, model->gradient + tokens->offset,
                      tokens->size * sizeof *model->gradient);
    for (size_t i = 0; i <= model->shape.depth; i++)
        model->is_cleared[i] = true;
}

enum kernel_mode model_gradient_mode(struct model *model, size_t part)
{
    bool is_first = model->is_cleared[part];
    model->is_cleared[part] = false;
    return is_first ? KERNEL_SET : KERNEL_ADD;
}

/* Returns where a matrix of a block begins in the weights. */
static size_t place(const struct model *model, size_t layer, size_t part)
{
    size_t before = tensors_before(model->shape.depth);
    return model->tensors[before + layer * BLOCK_MATRICES + part].place;
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
    const struct model_tensor *tensors = model->tensors;
    const struct model_shape *shape = &model->shape;
    const struct model_cut rows = {MODEL_RANKS_PART, 1, shape->width, {shape->vocabulary}};
    size_t before = shape->tied ? share_of(model, &rows, 0).first * shape->width : 0;
    return (struct model_ends){
        .norm = tensors[0].size ? model->master + tensors[0].offset : NULL,
        .tokens = model->weights + tensors[index_of_tokens(model)].place,
        .head = model->weights + tensors[index_of_head(model)].place + before,
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

static void gather_weights(struct model *model)
{
    struct kernel_run *runs = xcalloc(model->bucket_count, sizeof *runs);
    size_t count = 0;
    for (size_t i = 0; i < model->bucket_count; i++)
        if (model->buckets[i].is_shared)
            runs[count++] = (struct kernel_run){model->weights + model->buckets[i].first,
                                                model->buckets[i].count};
    kernels_gather(model->kernels, runs, count);
    free(runs);
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
    gather_weights(model);
    return kernels_sums_end(model->kernels, err);
}
