/* The model: a decoder-only transformer, whose stack of blocks may be applied several times.
 *
 * Each block is what modern decoders have: a norm (RMSNorm), attention with rotary positions, in
 * which several heads may share a key and a value, a norm again, and a gated MLP (SwiGLU). The
 * embedding of the text is the first state. Each refinement loop runs the state through the same
 * `depth` blocks. The same head reads the state after every loop, so each loop has its own loss.
 *
 * With several loops the head reads the state without a norm: a loop adds to the answer of the loop
 * before, and the size of the state shows how sure the model is. With one loop the model is a plain
 * decoder, and a last norm stands before the head.
 *
 * Training uses the sum of the losses of all loops with the weights of model_loop_weights(). The
 * last loop has the largest weight, so the first loop stays a rough draft that later loops improve.
 *
 * A model owns its weights, gradients and AdamW moments, in the memory of the kernels' backend.
 * pass.h has the activations of a batch. All numbers depend only on the configuration, the seed and
 * the text. */
#ifndef PHASED_WORKER_MODEL_MODEL_H
#define PHASED_WORKER_MODEL_MODEL_H

#include "worker/model/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    MODEL_BYTES = 256, /* ids of a text of bytes */
    MODEL_VOCABULARY_MAX = 1 << 20,
    MODEL_LOOPS_MAX = 16,
    MODEL_DEPTH_MAX = 256,
    MODEL_WIDTH_MAX = 16384,
    MODEL_HIDDEN_MAX = 65536,
    MODEL_HEADS_MAX = 256,
    MODEL_NORMS = 1024,
};

/* What the weights depend on. It is fixed as long as the model and its checkpoints live. */
struct model_shape {
    uint32_t vocabulary; /* different ids */
    uint32_t width;      /* of the state of a token */
    uint32_t depth;      /* blocks */
    uint32_t heads;      /* of queries; divide the width into even parts */
    uint32_t kv_heads;   /* of keys and values; divide the heads */
    uint32_t hidden;     /* width inside the MLP */
    uint32_t loops;
    uint32_t tied; /* 1: the head is the table of embeddings; 0: it has weights of its own */
};

enum model_group {
    MODEL_EMBEDDING, /* a learning rate of their own, no decay */
    MODEL_MATRIX,    /* blocks and head: with decay */
    MODEL_GAIN,      /* norms: the learning rate of the matrices, no decay */
};

enum model_sharing {
    MODEL_WHOLE,      /* each rank has the whole tensor */
    MODEL_EVENLY,     /* each rank has the same number of units */
    MODEL_RANKS_PART, /* each rank has the units that ranks_part() says */
};

enum { MODEL_PIECES = 3 };

/* How the ranks of a group that decodes share a tensor. It has `rows` rows. A row consists of
 * pieces side by side, and a piece of so many units of `unit` numbers. A rank has its share of the
 * units of each piece. */
struct model_cut {
    enum model_sharing sharing;
    size_t rows, unit, pieces[MODEL_PIECES];
};

/* One tensor: `size` numbers at `offset` in the whole model. What this model has of the tensor
 * begins at `place` in its weights; a model that trains has all, at `offset`. */
struct model_tensor {
    const char *name;
    size_t offset, size, place;
    enum model_group group;
    float spread; /* the first values are uniform in +-spread; gains start at 1 */
    struct model_cut cut;
};

/* Ranks that train together share the optimizer: each rank owns a part of each bucket, as
 * ranks_part() says, and has moments only for this part. The gains of all norms are one small
 * bucket, which every rank has whole: kernels read gains as floats, and only rounded weights are
 * gathered. */
struct model_bucket {
    size_t first, count;         /* in weights and gradient */
    size_t own_first, own_count; /* the part of this rank, in weights and gradient */
    size_t state;                /* where the part begins in both moments */
    bool is_shared;              /* false: every rank has all of it */
};
enum { MODEL_BUCKET_GAINS, MODEL_BUCKET_ENDS, MODEL_BUCKET_BLOCKS };

/* A rank of those that train together, or of a group that decodes. */
struct model_rank {
    unsigned rank, size;
};

enum model_use {
    MODEL_TRAINS,
    MODEL_DECODES, /* has only the rounded weights of its share, and gains as floats */
};

struct model {
    struct kernels *kernels; /* borrowed */
    struct model_shape shape;
    enum model_use use;
    struct model_rank rank;
    size_t sequence;        /* tokens in the longest sequence */
    size_t parameters;      /* of the whole model */
    size_t kept;            /* numbers in `weights` */
    size_t state;           /* numbers in each moment of this rank */
    float *master;          /* the weights that the optimizer keeps; MODEL_DECODES: only gains */
    kernel_number *weights; /* the same, rounded; if a CPU trains, the same memory */
    float *gradient, *moment1, *moment2;
    float *square_sums; /* of the gradients of the last MODEL_NORMS steps: a ring */
    size_t measured;    /* steps of model_measure() */
    size_t looked;      /* the same, at the last model_skipped() */
    float *turns;       /* the table of kernel_rotary(), for `sequence` positions */
    size_t tensor_count;
    struct model_tensor *tensors;
    bool *is_cleared;    /* [depth + 1]: what model_gradient_mode() tells of each part */
    size_t bucket_count; /* gains, ends, and one for each block */
    struct model_bucket *buckets;
};

struct model_rates {
    float matrix, embedding; /* learning rates */
    float decay;
    float clip; /* largest norm of the gradient; 0: no limit */
};

struct kernels_needs model_needs(const struct model_shape *shape, size_t sequence);

/* Returns 0 if there is such a model. If not, the message names the size that is wrong. */
int model_check(const struct model_shape *shape, size_t sequence, struct error *err);

/* Returns how many weights the products of a block have. */
double model_block_products(const struct model_shape *shape);
/* Returns the operations of a step of training for each token: 6 for each weight of a product, and
 * for attention 6 for each number of a query and each token of the row, because a token sees half
 * of the row. */
double model_operations(const struct model_shape *shape, size_t sequence);
/* The same by the convention of MFU (lib/metrics/speed.h): attention counts as a whole. */
double model_mfu_operations(const struct model_shape *shape, size_t sequence);

/* Makes a model with all numbers 0. The shape must have passed model_check(). Call model_fini()
 * also after a failure, which is a lack of memory. */
int model_init(struct model *model, struct kernels *kernels, const struct model_shape *shape,
               size_t sequence, enum model_use use, struct model_rank rank, struct error *err);
void model_fini(struct model *model);

/* Writes to `ret_values` `count` numbers of a tensor, from number `first` of the whole model on. */
typedef void model_reader(void *context, const struct model_tensor *tensor, size_t first,
                          size_t count, float *ret_values);
/* Fills the weights that this model has. Asks `read` for them in the order of the whole model. */
void model_fill(struct model *model, model_reader *read, void *context);

/* Draws the first weights. */
void model_draw(struct model *model, uint64_t seed);

/* Returns the weight of the loss of each loop: base^i / (base^0 + ... + base^(loops - 1)). */
void model_loop_weights(float *ret_weights, size_t loops, double base);

/* Sets the gradient to 0. For the matrices of the blocks and the head this is only noted: the first
 * product for them overwrites the old gradient (model_gradient_mode()). */
void model_clear_gradient(struct model *model);
/* Returns whether products overwrite or add to the gradient of block `part`, or of the head if
 * `part` is the depth. Call it once for one product of each matrix of the part. */
enum kernel_mode model_gradient_mode(struct model *model, size_t part);

/* Begins to sum a bucket of the gradient over the ranks; the bucket is complete. */
void model_sum(struct model *model, size_t bucket);
/* Begins to compute the norm of the gradient, which model_update() needs, from the sums of all
 * buckets. Does not wait. */
int model_measure(struct model *model, struct error *err);
/* Returns the norm of the gradient. Waits. */
double model_norm(const struct model *model);
/* Returns how many steps since the last call changed no weights, because the norms of their
 * gradients were not finite. Sees the last MODEL_NORMS steps. Waits. */
size_t model_skipped(struct model *model);

/* Takes one step of AdamW, and gathers the weights of all ranks; `step` counts from 1. If the norm
 * of the gradient is not finite, nothing changes. Does not wait. */
int model_update(struct model *model, uint64_t step, const struct model_rates *rates,
                 struct error *err);

/* The weights of one block: gains norm1, norm2[width], and the matrices
 * - qkv[width x (heads + 2 kv_heads) head_width]: queries, keys and values side by side;
 * - out[width x width], up[width x 2 hidden]: what is gated and its factor side by side;
 * - down[hidden x width].
 * A rank that decodes has its share of the heads and of `hidden`, so the matrices are smaller:
 * fewer columns of qkv and up, fewer rows of out and down. Borrowed from the model. */
struct model_block {
    const float *norm1, *norm2;
    const kernel_number *qkv, *out, *up, *down;
};
struct model_block model_block(const struct model *model, size_t layer);
/* The same of the gradient. */
struct model_block_gradient {
    float *norm1, *norm2, *qkv, *out, *up, *down;
};
struct model_block_gradient model_block_gradient(struct model *model, size_t layer);

/* The weights outside of the blocks: tokens and head[vocabulary x width], which are one array if
 * they are tied. A rank that decodes has the rows of the head that ranks_part() says. `norm`[width]
 * stands before the head; NULL if there are several loops. */
struct model_ends {
    const float *norm;
    const kernel_number *tokens, *head;
};
struct model_ends model_ends(const struct model *model);
struct model_ends_gradient {
    float *norm, *tokens, *head;
};
struct model_ends_gradient model_ends_gradient(struct model *model);

struct kernel_attention_shape model_attention(const struct model_shape *shape, size_t batch,
                                              size_t sequence);

#endif
