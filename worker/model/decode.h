/* Generation: the model computes one token after another for a batch of sequences, and keeps the
 * keys and values.
 *
 * It is tensor-parallel as in Megatron-LM (Shoeybi et al. 2019). Each rank of a group has some
 * heads with their keys and values, and the same share of the MLP. The matrices for queries, keys,
 * values and the way up are cut by columns. The matrices for the output of the attention and the
 * way down are cut by rows, and their products are added over the group: two sums for each block.
 * Every rank has all norms, the embedding and the head.
 *
 * The product of a matrix that is cut by rows consists of as many parts as the largest possible
 * group has ranks. The parts are added in a tree. So a group of any size computes the same bits. */
#ifndef PHASED_WORKER_MODEL_DECODE_H
#define PHASED_WORKER_MODEL_DECODE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct group;
struct model;
struct model_shape;

struct decode;

/* Returns the size of the largest group that a model can use: a power of two, which divides the
 * heads, the heads of keys and values, and the width inside the MLP. Smaller powers of two are
 * possible too. */
unsigned decode_group_max(const struct model_shape *shape);

/* `group->size` is possible as decode_group_max() says. The model and the group are borrowed. The
 * model was made for sequences of at least `length_max` tokens. If memory is missing,
 * kernels_status() tells. */
struct decode *decode_new(const struct model *model, struct group *group, size_t batch_max,
                          size_t length_max);
void decode_free(struct decode *decode);

/* Begins `batch` new sequences and forgets the sequences before. */
void decode_begin(struct decode *decode, size_t batch);

/* Adds one token to each sequence. ret_logits[batch x vocabulary] are the logits of the last
 * loop for the next token; borrowed until the next call. */
int decode_step(struct decode *decode, const uint32_t *ids, const float **ret_logits,
                struct error *err);

#endif
