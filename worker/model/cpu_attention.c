/* Causal attention on a CPU, one head of one sequence at a time. It computes whole matrices of
 * sequence x sequence by cpu_product(), and discards the half after the diagonal. */
#include "worker/model/cpu.h"
#include "worker/model/kernels.h"

#include <math.h>
#include <string.h>

/* One head of one sequence within the packed arrays. Several heads may share its keys. */
struct head {
    size_t q, k, v; /* offsets of its first query, key and value in qkv */
    size_t y;       /* offset of its first output */
    size_t p;       /* offset of its probabilities */
};

/* Returns the distance of two rows of qkv. */
static size_t row_of(const struct kernel_attention_shape *shape)
{
    return (shape->heads + 2 * shape->kv_heads) * shape->head_width;
}

static struct head head_at(const struct kernel_attention_shape *shape, size_t sequence_index,
                           size_t index)
{
    size_t first_row = sequence_index * shape->sequence, width = shape->head_width;
    size_t kv = shape->heads + index / (shape->heads / shape->kv_heads);
    size_t first = first_row * row_of(shape);
    return (struct head){
        .q = first + index * width,
        .k = first + kv * width,
        .v = first + (kv + shape->kv_heads) * width,
        .y = (first_row * shape->heads + index) * width,
        .p = (sequence_index * shape->heads + index) * shape->sequence * shape->sequence,
    };
}

/* Turns one head of one row. */
static void turn_head(float *x, const float *table, size_t half, float side)
{
    for (size_t i = 0; i < half; i++, table += 2) {
        float c = table[0], s = side * table[1], a = x[i], b = x[i + half];
        x[i] = a * c - b * s;
        x[i + half] = a * s + b * c;
    }
}

void kernel_rotary(struct kernels *kernels, kernel_number *qkv, const float *table,
                   const uint32_t *firsts, const struct kernel_attention_shape *shape,
                   enum kernel_turn turn)
{
    (void)kernels; /* needs no scratch */
    float side = turn == KERNEL_FORWARD ? 1.0f : -1.0f;
    for (size_t row = 0; row < shape->batch * shape->sequence; row++) {
        size_t first = firsts ? firsts[row / shape->sequence] : 0;
        const float *angles = table + (first + row % shape->sequence) * shape->head_width;
        float *heads = qkv + row * row_of(shape);
        for (size_t head = 0; head < shape->heads + shape->kv_heads; head++)
            turn_head(heads + head * shape->head_width, angles, shape->head_width / 2, side);
    }
}

static void attend(float *y, float *p, const float *qkv, float *keys,
                   const struct kernel_attention_shape *shape, const struct head *head)
{
    size_t length = shape->sequence, stride = row_of(shape), width = shape->head_width;
    cpu_transpose(keys, qkv + head->k, stride, length, width);
    cpu_product(p, length, (struct cpu_view){qkv + head->q, stride, 1}, keys, length, length, width,
                length, KERNEL_SET);
    float scale = 1.0f / sqrtf((float)width);
    for (size_t t = 0; t < length; t++) {
        float *row = p + t * length;
        for (size_t s = 0; s <= t; s++)
            row[s] *= scale;
        (void)cpu_softmax(row, t + 1); /* only losses need the result */
        memset(row + t + 1, 0, (length - t - 1) * sizeof *row);
    }
    cpu_product(y + head->y, shape->heads * width, (struct cpu_view){p, length, 1}, qkv + head->v,
                stride, length, length, width, KERNEL_SET);
}

/* `scores` becomes the gradient of the scores: ds = p (dp - sum(p dp)) / sqrt(width). The gradients
 * of keys and values are set or added to, by `mode`. */
static void attend_backward(float *dqkv, const float *dy, const float *p, const float *qkv,
                            float *values, const struct kernel_attention_shape *shape,
                            const struct head *head, enum kernel_mode mode)
{
    size_t length = shape->sequence, width = shape->head_width, stride = row_of(shape);
    size_t y_stride = shape->heads * width;
    const float *dout = dy + head->y;
    float *scores = values + length * width;
    cpu_transpose(values, qkv + head->v, stride, length, width);
    cpu_product(scores, length, (struct cpu_view){dout, y_stride, 1}, values, length, length, width,
                length, KERNEL_SET);
    float scale = 1.0f / sqrtf((float)width);
    for (size_t t = 0; t < length; t++) {
        float *row = scores + t * length;
        const float *probability = p + t * length;
        float mean = cpu_dot(probability, row, t + 1);
        for (size_t s = 0; s <= t; s++)
            row[s] = probability[s] * (row[s] - mean) * scale;
        memset(row + t + 1, 0, (length - t - 1) * sizeof *row);
    }
    cpu_product(dqkv + head->q, stride, (struct cpu_view){scores, length, 1}, qkv + head->k, stride,
                length, length, width, KERNEL_SET);
    cpu_product(dqkv + head->k, stride, (struct cpu_view){scores, 1, length}, qkv + head->q, stride,
                length, length, width, mode);
    cpu_product(dqkv + head->v, stride, (struct cpu_view){p, 1, length}, dout, y_stride, length,
                length, width, mode);
}

size_t kernel_attention_kept(const struct kernel_attention_shape *shape)
{
    return shape->batch * shape->heads * shape->sequence * shape->sequence;
}

void kernel_attention(struct kernels *kernels, kernel_number *y, float *ret_kept,
                      const kernel_number *qkv, const struct kernel_attention_shape *shape)
{
    float *keys = cpu_scratch(kernels, shape->sequence * shape->head_width);
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t h = 0; h < shape->heads; h++) {
            struct head head = head_at(shape, b, h);
            attend(y, ret_kept + head.p, qkv, keys, shape, &head);
        }
    }
}

void kernel_attention_backward(struct kernels *kernels, kernel_number *dqkv,
                               const kernel_number *dy, const kernel_number *y, const float *kept,
                               const kernel_number *qkv, const struct kernel_attention_shape *shape)
{
    (void)y; /* the probabilities are kept whole */
    float *scratch = cpu_scratch(kernels, shape->sequence * (shape->sequence + shape->head_width));
    size_t sharing = shape->heads / shape->kv_heads;
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t h = 0; h < shape->heads; h++) {
            struct head head = head_at(shape, b, h);
            attend_backward(dqkv, dy, kept + head.p, qkv, scratch, shape, &head,
                            h % sharing ? KERNEL_ADD : KERNEL_SET);
        }
    }
}

/* Returns where the key and value of a token lie in what is kept, for one head and the sequence of
 * a row. */
static size_t kept_at(const struct kernel_pages *pages, size_t row, size_t kv_head, size_t token,
                      const struct kernel_attention_shape *shape)
{
    size_t page = pages->table[row * pages->row + token / KERNEL_PAGE];
    size_t place = (page * shape->kv_heads + kv_head) * KERNEL_PAGE + token % KERNEL_PAGE;
    return place * shape->head_width;
}

/* Attention of the new token of a row in head `h`, page by page. The order of the sums is that of
 * the tokens, as if all pages were one. */
static void attend_newest(float *y, float *scores, const float *keys, const float *values,
                          const float *query, const struct kernel_pages *pages, size_t row,
                          size_t h, const struct kernel_attention_shape *shape)
{
    size_t width = shape->head_width, count = (size_t)pages->positions[row] + 1;
    size_t kv = h / (shape->heads / shape->kv_heads);
    float scale = 1.0f / sqrtf((float)width);
    for (size_t t = 0; t < count; t++)
        scores[t] = cpu_dot(query, keys + kept_at(pages, row, kv, t, shape), width) * scale;
    (void)cpu_softmax(scores, count); /* only losses need the result */
    for (size_t t = 0; t < count; t += KERNEL_PAGE) {
        size_t part = count - t < KERNEL_PAGE ? count - t : KERNEL_PAGE;
        cpu_product(y, width, (struct cpu_view){scores + t, part, 1},
                    values + kept_at(pages, row, kv, t, shape), width, 1, part, width,
                    t ? KERNEL_ADD : KERNEL_SET);
    }
}

void kernel_attention_newest(struct kernels *kernels, kernel_number *y, kernel_number *keys,
                             kernel_number *values, const kernel_number *qkv,
                             const struct kernel_pages *pages,
                             const struct kernel_attention_shape *shape)
{
    size_t bytes = shape->head_width * sizeof *keys, sharing = shape->heads / shape->kv_heads;
    float *scores = cpu_scratch(kernels, pages->row * KERNEL_PAGE);
    for (size_t row = 0; row < shape->batch; row++) {
        for (size_t kv = 0; kv < shape->kv_heads; kv++) {
            struct head head = head_at(shape, row, kv * sharing);
            size_t newest = kept_at(pages, row, kv, pages->positions[row], shape);
            memcpy(keys + newest, qkv + head.k, bytes);
            memcpy(values + newest, qkv + head.v, bytes);
        }
    }
    for (size_t row = 0; row < shape->batch; row++) {
        for (size_t h = 0; h < shape->heads; h++) {
            struct head head = head_at(shape, row, h);
            attend_newest(y + head.y, scores, keys, values, qkv + head.q, pages, row, h, shape);
        }
    }
}
