/* The model: a decoder-only transformer over bytes, whose stack of blocks is applied several times.
 *
 * The embedding of the text is the first state. Each refinement loop runs the state through the
 * same `depth` blocks (pre-norm, causal attention, MLP). The same head reads the state after every
 * loop, so each loop has its own loss. The head reads the state without a norm: a loop adds to the
 * answer of the loop before, and the size of the state shows how sure the model is. Only the linear
 * biases of the attention carry positions, so the weights work for text of any length.
 *
 * Training uses the sum of the losses of all loops with the weights of model_loop_weights(). The
 * last loop has the largest weight, so the first loop stays a rough draft that later loops improve.
 *
 * A model owns its weights, gradients, AdamW moments and the activations of one batch. Its numbers
 * depend only on its configuration, its seed and the text. */
#ifndef PHASED_WORKER_MODEL_MODEL_H
#define PHASED_WORKER_MODEL_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_VOCABULARY = 256, /* bytes */
    MODEL_LOOPS_MAX = 16,
    MODEL_DEPTH_MAX = 256,
    MODEL_WIDTH_MAX = 8192,
    MODEL_MLP_RATIO = 4, /* the MLP is so many times as wide inside as the state */
};

/* What the weights depend on. It is fixed as long as the model and its checkpoints live. width %
 * heads is 0. */
struct model_shape {
    uint32_t width, depth, heads, loops;
};

enum model_group {
    MODEL_EMBEDDING, /* a learning rate of their own, no decay */
    MODEL_MATRIX,    /* blocks and head: with decay */
    MODEL_GAIN,      /* norms: the learning rate of the matrices, no decay */
};

/* One tensor: `size` floats at `offset` in weights, gradient and both moments. */
struct model_tensor {
    const char *name;
    size_t offset, size;
    enum model_group group;
    float spread; /* the first values are uniform in +-spread; gains start at 1 */
};

struct model {
    struct model_shape shape;
    size_t batch_max; /* sequences in the largest batch */
    size_t sequence;  /* bytes in each sequence */
    size_t parameters;
    float *weights, *gradient, *moment1, *moment2;
    size_t tensor_count;
    struct model_tensor *tensors;
    struct model_activations *activations;
};

struct model_rates {
    float matrix, embedding; /* learning rates */
    float decay;
    float gradient_scale; /* factor of the gradient, for clipping */
};

/* Sets all weights, gradients and moments to 0. */
void model_init(struct model *model, const struct model_shape *shape, size_t batch_max,
                size_t sequence);
void model_fini(struct model *model);

/* Draws the first weights. */
void model_draw(struct model *model, uint64_t seed);

/* Returns the weight of the loss of each loop: base^i / (base^0 + ... + base^(loops - 1)). */
void model_loop_weights(float *ret_weights, size_t loops, double base);

void model_clear_gradient(struct model *model);

/* Runs forward and backward over `batch` sequences of bytes, each with its `targets`. The sum of
 * the losses of all tokens is added to losses[loop]. The gradient of the sum over loops of
 * scales[loop] times this sum is added to the gradient. */
void model_learn(struct model *model, const uint8_t *ids, const uint8_t *targets, size_t batch,
                 const float *scales, double *losses);

/* Runs only forward. Adds the sum of the losses of all tokens to losses[loop]. */
void model_evaluate(struct model *model, const uint8_t *ids, const uint8_t *targets, size_t batch,
                    double *losses);

/* The weights of one block: gains norm1, norm2[width], and the matrices qkv[width x 3 width]
 * (queries, keys and values side by side, each by heads), out[width x width], up[width x 4 width]
 * and down[4 width x width]. Borrowed from the model. */
struct model_block {
    const float *norm1, *qkv, *out, *norm2, *up, *down;
};
struct model_block model_block(const struct model *model, size_t layer);
/* Return tokens[MODEL_VOCABULARY x width] and head[width x MODEL_VOCABULARY]. */
const float *model_tokens(const struct model *model);
const float *model_head(const struct model *model);

/* Takes one step of AdamW; `step` counts from 1. */
void model_update(struct model *model, uint64_t step, const struct model_rates *rates);

#endif
