/* The arithmetic of the model: each function is one kernel with its backward pass.
 *
 * cpu.c and cpu_attention.c are the plain reference. A GPU backend would implement the same header
 * and be chosen at link time. All arrays are float32, row-major, and belong to the caller. Inputs
 * and outputs never overlap, unless the comment allows it. A row is one token of one sequence.
 *
 * Every sum has one fixed order, which does not depend on the vector width of the processor or on
 * how a matrix is cut into tiles. So the results have the same bits on every run and every CPU. If
 * a comment says "adds", the function adds to its output. All other functions overwrite it. */
#ifndef PHASED_WORKER_MODEL_KERNELS_H
#define PHASED_WORKER_MODEL_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* A matrix with strides: element (row, column) is data[row * row_stride + column * column_stride].
 * A transposed view swaps the strides. */
struct kernel_view {
    const float *data;
    size_t row_stride, column_stride;
};

enum kernel_mode {
    KERNEL_SET, /* overwrites the output */
    KERNEL_ADD, /* adds to the output, which has the first terms of each sum */
};

/* c[rows x columns] = a[rows x inner] b[inner x columns]; the rows of c are `c_stride` apart. Each
 * element is summed in the order of `inner`. */
void kernel_product(float *c, size_t c_stride, struct kernel_view a, const float *b,
                    size_t b_stride, size_t rows, size_t inner, size_t columns,
                    enum kernel_mode mode);

/* y[rows x out] = x[rows x in] w[in x out]. */
void kernel_matmul(float *y, const float *x, const float *w, size_t rows, size_t in, size_t out);
/* dx[rows x in] = dy w^T; adds x^T dy to dw. `scratch` holds in * out floats. */
void kernel_matmul_backward(float *dx, float *dw, const float *dy, const float *x, const float *w,
                            float *scratch, size_t rows, size_t in, size_t out);

/* y = gain * x / rms(x) in each row; keeps 1 / rms in ret_scale[rows]. */
void kernel_rmsnorm(float *y, float *ret_scale, const float *x, const float *gain, size_t rows,
                    size_t width);
/* Adds to dx and dgain. */
void kernel_rmsnorm_backward(float *dx, float *dgain, const float *dy, const float *x,
                             const float *gain, const float *scale, size_t rows, size_t width);

struct kernel_attention_shape {
    size_t batch, sequence, heads, width; /* width of all heads together */
};
/* Returns how many floats of scratch the two functions below need. */
size_t kernel_attention_scratch(const struct kernel_attention_shape *shape);
/* Causal attention with linear biases: the score of a token `d` places back loses d * 4 / 2^head.
 * The model knows nothing else of positions. qkv[rows x 3 width] has queries, keys and values side
 * by side; y[rows x width]. Keeps the probabilities in ret_p[batch x heads x sequence x
 * sequence]. */
void kernel_attention(float *y, float *ret_p, const float *qkv, float *scratch,
                      const struct kernel_attention_shape *shape);
void kernel_attention_backward(float *dqkv, const float *dy, const float *p, const float *qkv,
                               float *scratch, const struct kernel_attention_shape *shape);

/* The same for only the newest of `count` tokens and one head, whose keys and values are kept:
 * y[width] from query[width], keys and values[count x width]. `scratch` has `count` floats. */
void kernel_attention_newest(float *y, const float *query, const float *keys, const float *values,
                             float *scratch, size_t count, size_t head, size_t width);

/* y = max(x, 0)^2; y may be x. */
void kernel_relu2(float *y, const float *x, size_t count);
/* dx may be dy. */
void kernel_relu2_backward(float *dx, const float *dy, const float *x, size_t count);

/* y = a + b; y may be a or b. */
void kernel_sum(float *y, const float *a, const float *b, size_t count);

/* y[row] = table[ids[row]]. */
void kernel_embed(float *y, const uint8_t *ids, const float *table, size_t rows, size_t width);
/* Adds to dtable. */
void kernel_embed_backward(float *dtable, const float *dy, const uint8_t *ids, size_t rows,
                           size_t width);

/* Returns the sum over rows of -log softmax(logits)[target]. The logits become their own gradient
 * times `gradient_scale`. */
double kernel_cross_entropy(float *logits, const uint8_t *targets, float gradient_scale,
                            size_t rows, size_t classes);

/* Returns the sum of squares. */
double kernel_square_sum(const float *x, size_t count);

struct kernel_adamw_step {
    float rate, beta1, beta2, epsilon, decay;
    float correction1, correction2; /* 1 - beta^t of each moment */
    float gradient_scale;           /* below 1 if the gradient is clipped */
};
/* One step of AdamW with bias correction; the decay is decoupled from the gradient. */
void kernel_adamw(float *weights, float *moment1, float *moment2, const float *gradient,
                  size_t count, const struct kernel_adamw_step *step);

#endif
