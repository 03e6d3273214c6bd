/* Describes attention as cuDNN recognizes it: its engines for attention match graphs of exactly
 * these operations. The graphs have the form that NVIDIA's cudnn-frontend gives them (MIT licence;
 * include/cudnn_frontend/node/scaled_dot_product_flash_attention.h and softmax.h). */
#include "worker/model/cuda/attention_plan.h"

#include "worker/model/kernels.h"

/* A graph under construction, with what its tensors are made of. */
struct builder {
    struct graph graph;
    int64_t batch, sequence, heads, kv_heads, width;
    int64_t qkv_row; /* numbers in a row of qkv */
};

static struct builder begin(const struct kernel_attention_shape *shape)
{
    return (struct builder){
        .batch = (int64_t)shape->batch,
        .sequence = (int64_t)shape->sequence,
        .heads = (int64_t)shape->heads,
        .kv_heads = (int64_t)shape->kv_heads,
        .width = (int64_t)shape->head_width,
        .qkv_row = (int64_t)((shape->heads + 2 * shape->kv_heads) * shape->head_width),
    };
}

/* Adds a part of an array whose rows are `row` numbers apart: [batch, heads, sequence, width]. */
static int rows_of(struct builder *at, int64_t heads, int64_t row)
{
    const int64_t dimensions[] = {at->batch, heads, at->sequence, at->width};
    const int64_t strides[] = {at->sequence * row, at->width, row, 1};
    return graph_tensor(&at->graph, GRAPH_IN_MEMORY, GRAPH_BFLOAT, dimensions, strides);
}

/* The same, seen as [batch, heads, width, sequence]. */
static int columns_of(struct builder *at, int64_t heads, int64_t row)
{
    const int64_t dimensions[] = {at->batch, heads, at->width, at->sequence};
    const int64_t strides[] = {at->sequence * row, at->width, 1, row};
    return graph_tensor(&at->graph, GRAPH_IN_MEMORY, GRAPH_BFLOAT, dimensions, strides);
}

static int by_value(struct builder *at)
{
    const int64_t ones[] = {1, 1, 1, 1};
    return graph_tensor(&at->graph, GRAPH_BY_VALUE, GRAPH_FLOAT, ones, ones);
}

/* Adds [batch, heads, sequence, sequence], which only exists inside of the kernel. */
static int scores(struct builder *at, enum graph_type type)
{
    int64_t n = at->sequence;
    const int64_t dimensions[] = {at->batch, at->heads, n, n};
    const int64_t strides[] = {at->heads * n * n, n * n, n, 1};
    return graph_tensor(&at->graph, GRAPH_INSIDE, type, dimensions, strides);
}

/* The same with rows and columns exchanged. */
static int turned_scores(struct builder *at)
{
    int64_t n = at->sequence;
    const int64_t dimensions[] = {at->batch, at->heads, n, n};
    const int64_t strides[] = {at->heads * n * n, n * n, 1, n};
    return graph_tensor(&at->graph, GRAPH_INSIDE, GRAPH_BFLOAT, dimensions, strides);
}

/* Adds one float for each row and head: [batch, heads, sequence, 1]. */
static int row_values(struct builder *at, enum graph_place place)
{
    const int64_t dimensions[] = {at->batch, at->heads, at->sequence, 1};
    const int64_t strides[] = {at->heads * at->sequence, at->sequence, 1, 1};
    return graph_tensor(&at->graph, place, GRAPH_FLOAT, dimensions, strides);
}

/* Adds [batch, heads, sequence, width] without gaps, in the order of the dimensions. */
static int heads_of(struct builder *at, enum graph_place place, enum graph_type type)
{
    int64_t n = at->sequence * at->width;
    const int64_t dimensions[] = {at->batch, at->heads, at->sequence, at->width};
    const int64_t strides[] = {at->heads * n, n, at->width, 1};
    return graph_tensor(&at->graph, place, type, dimensions, strides);
}

/* Returns function(x, b) as scores. */
static int map(struct builder *at, enum graph_function function, int x, int b)
{
    int y = scores(at, GRAPH_FLOAT);
    graph_pointwise(&at->graph, function, x, b, y);
    return y;
}

/* Returns the scores, with `least` for keys that come after the query. */
static int mask(struct builder *at, int from, int least)
{
    int row = scores(at, GRAPH_INDEX), column = scores(at, GRAPH_INDEX);
    int seen = scores(at, GRAPH_TRUTH), masked = scores(at, GRAPH_FLOAT);
    graph_index(&at->graph, 2, from, row);
    graph_index(&at->graph, 3, from, column);
    graph_pointwise(&at->graph, GRAPH_NOT_LESS, row, column, seen);
    graph_select(&at->graph, seen, from, least, masked);
    return masked;
}

int attention_plan_forward(const struct kernel_attention_shape *shape,
                           const struct graph_target *target, struct graph_plan *ret_plan,
                           struct error *err)
{
    struct builder at = begin(shape);
    int q = rows_of(&at, at.heads, at.qkv_row), k = columns_of(&at, at.kv_heads, at.qkv_row);
    int v = rows_of(&at, at.kv_heads, at.qkv_row), y = rows_of(&at, at.heads, at.heads * at.width);
    int kept = row_values(&at, GRAPH_IN_MEMORY), scale = by_value(&at), least = by_value(&at);

    int products = scores(&at, GRAPH_FLOAT);
    graph_matmul(&at.graph, q, k, products);
    int scaled = map(&at, GRAPH_TIMES, products, scale);
    int masked = mask(&at, scaled, least);
    int highest = row_values(&at, GRAPH_INSIDE), sum = row_values(&at, GRAPH_INSIDE);
    graph_reduce(&at.graph, GRAPH_HIGHEST, masked, highest);
    int lowered = map(&at, GRAPH_MINUS, masked, highest);
    int powers = map(&at, GRAPH_EXPONENTIAL, lowered, -1);
    graph_reduce(&at.graph, GRAPH_SUM, powers, sum);
    int logarithm = row_values(&at, GRAPH_INSIDE);
    graph_pointwise(&at.graph, GRAPH_LOGARITHM, sum, -1, logarithm);
    graph_pointwise(&at.graph, GRAPH_PLUS, highest, logarithm, kept);
    int probabilities = scores(&at, GRAPH_BFLOAT);
    graph_pointwise(&at.graph, GRAPH_DIVIDED, powers, sum, probabilities);
    graph_matmul(&at.graph, probabilities, v, y);
    return graph_plan(&at.graph, target, ret_plan, err);
}

/* Adds the product of turned scores with rows of queries or gradients, into `to`, the gradient of
 * keys or values. Queries that share a key add up. */
static void gather(struct builder *at, int from, int rows, int to)
{
    int turned = turned_scores(at);
    graph_reshape(&at->graph, from, turned);
    if (at->heads == at->kv_heads) {
        graph_matmul(&at->graph, turned, rows, to);
        return;
    }
    int all = heads_of(at, GRAPH_INSIDE, GRAPH_BFLOAT);
    graph_matmul(&at->graph, turned, rows, all);
    graph_reduce(&at->graph, GRAPH_SUM, all, to);
}

/* Adds sums = the sum of dy y over each row and head. */
static void sum_rows(struct builder *at, int dy, int y, int one, int sums)
{
    int products = heads_of(at, GRAPH_INSIDE, GRAPH_FLOAT), sum = row_values(at, GRAPH_INSIDE);
    graph_pointwise(&at->graph, GRAPH_TIMES, dy, y, products);
    graph_reduce(&at->graph, GRAPH_SUM, products, sum);
    graph_pointwise(&at->graph, GRAPH_TIMES, sum, one, sums);
}

int attention_plan_backward(const struct kernel_attention_shape *shape,
                            const struct graph_target *target, struct graph_plan *ret_plan,
                            struct error *err)
{
    struct builder at = begin(shape);
    int64_t y_row = at.heads * at.width;
    int q = rows_of(&at, at.heads, at.qkv_row), k = columns_of(&at, at.kv_heads, at.qkv_row);
    int v = columns_of(&at, at.kv_heads, at.qkv_row);
    int y = rows_of(&at, at.heads, y_row), dy = rows_of(&at, at.heads, y_row);
    int kept = row_values(&at, GRAPH_IN_MEMORY);
    int dq = rows_of(&at, at.heads, at.qkv_row), dk = rows_of(&at, at.kv_heads, at.qkv_row);
    int dv = rows_of(&at, at.kv_heads, at.qkv_row);
    int scale = by_value(&at), least = by_value(&at), one = by_value(&at);
    int sums = row_values(&at, GRAPH_IN_MEMORY);
    int part = heads_of(&at, GRAPH_IN_MEMORY, GRAPH_FLOAT);

    sum_rows(&at, dy, y, one, sums);

    int products = scores(&at, GRAPH_FLOAT);
    graph_matmul(&at.graph, q, k, products);
    int scaled = map(&at, GRAPH_TIMES, products, scale);
    int lowered = map(&at, GRAPH_MINUS, scaled, kept);
    int masked = mask(&at, lowered, least);
    int probabilities = map(&at, GRAPH_EXPONENTIAL, masked, -1);
    gather(&at, probabilities, dy, dv);

    int dp = scores(&at, GRAPH_FLOAT);
    graph_matmul(&at.graph, dy, v, dp);
    int centred = map(&at, GRAPH_MINUS, dp, sums);
    int ds = map(&at, GRAPH_TIMES, centred, probabilities);
    int ds_scaled = map(&at, GRAPH_TIMES, ds, scale);
    gather(&at, ds_scaled, q, dk);

    const int64_t k_dimensions[] = {at.batch, at.kv_heads, at.sequence, at.width};
    const int64_t k_strides[] = {at.sequence * at.qkv_row, at.width, at.qkv_row, 1};
    int k_rows = graph_tensor(&at.graph, GRAPH_INSIDE, GRAPH_BFLOAT, k_dimensions, k_strides);
    graph_reshape(&at.graph, k, k_rows);
    graph_matmul(&at.graph, ds_scaled, k_rows, part);
    graph_pointwise(&at.graph, GRAPH_SAME, part, -1, dq);
    return graph_plan(&at.graph, target, ret_plan, err);
}
