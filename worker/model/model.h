/* The model: a decoder-only transformer over bytes whose block stack is applied several times.
 *
 * The embedding of the text is the first state. Each refinement loop runs the state through the
 * same `depth` blocks (pre-norm, causal attention, MLP) and every loop's state is read by the same
 * head, so that each loop has its own loss. The head reads the state as it is, without a norm: a
 * loop adds to the answer of the loop before and its size carries how sure it is. Positions are
 * known through the attention's linear biases alone, so that text of any length fits the weights.
 *
 * The loss that is trained is the sum of the loops' losses under model_loop_weights(): the last
 * loop's counts most, so the first is left a rough draft for the later ones to work on.
 *
 * A model owns its weights, gradients, AdamW moments and the activations of one batch. Its numbers
 * depend on nothing but its configuration, its seed and what it was trained on. */
#ifndef PHASED_WORKER_MODEL_MODEL_H
#define PHASED_WORKER_MODEL_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_VOCABULARY = 256, /* bytes */
    MODEL_LOOPS_MAX = 16,
    MODEL_DEPTH_MAX = 256,
    MODEL_WIDTH_MAX = 8192,
    MODEL_MLP_RATIO = 4, /* the MLP's inside is so many times as wide as the state */
};

/* What the weights depend on; fixed for the life of a model and its checkpoints. width % heads is
 * 0. */
struct model_shape {
    uint32_t width, depth, heads, loops;
};

enum model_group {
    MODEL_EMBEDDING, /* their own learning rate, no decay */
    MODEL_MATRIX,    /* blocks and head: decay */
    MODEL_GAIN,      /* norms: the matrices' learning rate, no decay */
};

/* One tensor: `size` floats at `offset` in weights, gradient and both moments. */
struct model_tensor {
    const char *name;
    size_t offset, size;
    enum model_group group;
    float spread; /* first values are uniform in +-spread; gains start at 1 */
};

struct model {
    struct model_shape shape;
    size_t batch_max; /* sequences in the largest batch */
    size_t sequence;  /* bytes in each */
    size_t parameters;
    float *weights, *gradient, *moment1, *moment2;
    size_t tensor_count;
    struct model_tensor *tensors;
    struct model_activations *activations;
};

struct model_rates {
    float matrix, embedding; /* learning rates */
    float decay;
    float gradient_scale; /* the gradient is multiplied by it: clipping */
};

/* All weights, gradients and moments are 0 afterwards. */
void model_init(struct model *model, const struct model_shape *shape, size_t batch_max,
                size_t sequence);
void model_fini(struct model *model);

/* Draws the first weights. */
void model_draw(struct model *model, uint64_t seed);

/* Weight of each loop's loss: base^i / (base^0 + ... + base^(loops - 1)). */
void model_loop_weights(float *ret_weights, size_t loops, double base);

void model_clear_gradient(struct model *model);

/* Forward and backward over `batch` sequences of bytes, each predicting `targets`. Adds to the
 * gradient that of sum over loops of scales[loop] * (sum of its tokens' losses), and to
 * losses[loop] that sum of losses. */
void model_learn(struct model *model, const uint8_t *ids, const uint8_t *targets, size_t batch,
                 const float *scales, double *losses);

/* Forward alone: adds to losses[loop] the sum of its tokens' losses. */
void model_evaluate(struct model *model, const uint8_t *ids, const uint8_t *targets, size_t batch,
                    double *losses);

/* The weights of one block: gains norm1, norm2[width], matrices qkv[width x 3 width] (queries, keys
 * and values side by side, each by heads), out[width x width], up[width x 4 width] and
 * down[4 width x width]. Borrowed from the model. */
struct model_block {
    const float *norm1, *qkv, *out, *norm2, *up, *down;
};
struct model_block model_block(const struct model *model, size_t layer);
/* tokens[MODEL_VOCABULARY x width] and head[width x MODEL_VOCABULARY]. */
const float *model_tokens(const struct model *model);
const float *model_head(const struct model *model);

/* One AdamW step; `step` counts from 1. */
void model_update(struct model *model, uint64_t step, const struct model_rates *rates);

#endif
