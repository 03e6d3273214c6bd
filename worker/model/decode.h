/* Generation: the model computes one token after another for a batch of sequences, and keeps the
 * keys and values.
 *
 * It is tensor-parallel as in Megatron-LM (Shoeybi et al. 2019). Each rank of a group has some
 * heads and the same share of the MLP. The matrices for queries, keys, values and the way up are
 * cut by columns. The matrices for the output of the attention and the way down are cut by rows,
 * and their products are added over the group: two sums for each block. Every rank has all norms,
 * the embedding and the head.
 *
 * The product of a matrix that is cut by rows consists of one part for each head, which are added
 * in a tree. So a group of any size computes the same bits. */
#ifndef PHASED_WORKER_MODEL_DECODE_H
#define PHASED_WORKER_MODEL_DECODE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct group;
struct model;

struct decode;

/* `group->size` divides the number of heads, which is a power of two. The model and the group are
 * borrowed. Sequences have at most `length_max` tokens. */
struct decode *decode_new(const struct model *model, struct group *group, size_t batch_max,
                          size_t length_max);
void decode_free(struct decode *decode);

/* Begins `batch` new sequences and forgets the sequences before. */
void decode_begin(struct decode *decode, size_t batch);

/* Adds one token to each sequence. ret_logits[batch x MODEL_VOCABULARY] are the logits of the last
 * loop for the next token; borrowed until the next call. */
int decode_step(struct decode *decode, const uint8_t *ids, const float **ret_logits,
                struct error *err);

#endif
