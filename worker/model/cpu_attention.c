/* Causal attention on a CPU, one head of one sequence at a time. It computes whole matrices of
 * sequence x sequence by kernel_product(), and discards the half after the diagonal. */
#include "worker/model/cpu.h"
#include "worker/model/kernels.h"

#include <math.h>
#include <string.h>

/* Returns what a score loses with each place of distance. */
static float slope_of(size_t head)
{
    return ldexpf(4.0f, -(int)head);
}

/* One head of one sequence within the packed arrays. */
struct head {
    size_t qkv; /* offset of its first query in qkv; keys and values follow after 1 and 2 widths */
    size_t y;   /* offset of its first output */
    size_t p;   /* offset of its probabilities */
    size_t width; /* width of this head */
    float slope;  /* what a score loses with each place of distance */
};

static struct head head_at(const struct kernel_attention_shape *shape, size_t sequence_index,
                           size_t index)
{
    size_t first_row = sequence_index * shape->sequence, width = shape->width / shape->heads;
    return (struct head){
        .qkv = first_row * 3 * shape->width + index * width,
        .y = first_row * shape->width + index * width,
        .p = (sequence_index * shape->heads + index) * shape->sequence * shape->sequence,
        .width = width,
        .slope = slope_of(index),
    };
}

/* to[columns x rows] = from[rows x columns]. The rows of `from` are `stride` apart. */
static void transpose(float *to, const float *from, size_t stride, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * stride + c];
    }
}

static void attend(float *y, float *p, const float *qkv, float *keys,
                   const struct kernel_attention_shape *shape, const struct head *head)
{
    size_t length = shape->sequence, stride = 3 * shape->width;
    const float *q = qkv + head->qkv, *k = q + shape->width, *v = k + shape->width;
    transpose(keys, k, stride, length, head->width);
    kernel_product(p, length, (struct kernel_view){q, stride, 1}, keys, length, length, head->width,
                   length, KERNEL_SET);
    float scale = 1.0f / sqrtf((float)head->width);
    for (size_t t = 0; t < length; t++) {
        float *row = p + t * length;
        for (size_t s = 0; s <= t; s++)
            row[s] = row[s] * scale - head->slope * (float)(t - s);
        (void)cpu_softmax(row, t + 1); /* only losses need the result */
        memset(row + t + 1, 0, (length - t - 1) * sizeof *row);
    }
    kernel_product(y + head->y, shape->width, (struct kernel_view){p, length, 1}, v, stride, length,
                   length, head->width, KERNEL_SET);
}

/* `scores` becomes the gradient of the scores: ds = p (dp - sum(p dp)) / sqrt(width). */
static void attend_backward(float *dqkv, const float *dy, const float *p, const float *qkv,
                            float *values, float *scores,
                            const struct kernel_attention_shape *shape, const struct head *head)
{
    size_t length = shape->sequence, width = shape->width, stride = 3 * width;
    const float *q = qkv + head->qkv, *k = q + width, *v = k + width, *dout = dy + head->y;
    float *dq = dqkv + head->qkv, *dk = dq + width, *dv = dk + width;
    transpose(values, v, stride, length, head->width);
    kernel_product(scores, length, (struct kernel_view){dout, width, 1}, values, length, length,
                   head->width, length, KERNEL_SET);
    float scale = 1.0f / sqrtf((float)head->width);
    for (size_t t = 0; t < length; t++) {
        float *row = scores + t * length;
        const float *probability = p + t * length;
        float mean = cpu_dot(probability, row, t + 1);
        for (size_t s = 0; s <= t; s++)
            row[s] = probability[s] * (row[s] - mean) * scale;
        memset(row + t + 1, 0, (length - t - 1) * sizeof *row);
    }
    kernel_product(dq, stride, (struct kernel_view){scores, length, 1}, k, stride, length, length,
                   head->width, KERNEL_SET);
    kernel_product(dk, stride, (struct kernel_view){scores, 1, length}, q, stride, length, length,
                   head->width, KERNEL_SET);
    kernel_product(dv, stride, (struct kernel_view){p, 1, length}, dout, width, length, length,
                   head->width, KERNEL_SET);
}

size_t kernel_attention_scratch(const struct kernel_attention_shape *shape)
{
    return shape->sequence * (shape->sequence + shape->width / shape->heads);
}

void kernel_attention(float *y, float *ret_p, const float *qkv, float *scratch,
                      const struct kernel_attention_shape *shape)
{
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t h = 0; h < shape->heads; h++) {
            struct head head = head_at(shape, b, h);
            attend(y, ret_p + head.p, qkv, scratch, shape, &head);
        }
    }
}

void kernel_attention_newest(float *y, const float *query, const float *keys, const float *values,
                             float *scratch, size_t count, size_t head, size_t width)
{
    float scale = 1.0f / sqrtf((float)width);
    for (size_t s = 0; s < count; s++)
        scratch[s] = cpu_dot(query, keys + s * width, width) * scale -
                     slope_of(head) * (float)(count - 1 - s);
    (void)cpu_softmax(scratch, count); /* only losses need the result */
    kernel_product(y, width, (struct kernel_view){scratch, count, 1}, values, width, 1, count,
                   width, KERNEL_SET);
}

void kernel_attention_backward(float *dqkv, const float *dy, const float *p, const float *qkv,
                               float *scratch, const struct kernel_attention_shape *shape)
{
    float *scores = scratch + shape->sequence * (shape->width / shape->heads);
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t h = 0; h < shape->heads; h++) {
            struct head head = head_at(shape, b, h);
            attend_backward(dqkv, dy, p + head.p, qkv, scratch, scores, shape, &head);
        }
    }
}
