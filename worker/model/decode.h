/* The model at work: one token after another for a batch of sequences, with keys and values kept.
 *
 * Tensor-parallel as Megatron-LM cuts it (Shoeybi et al. 2019): each rank of a group has some heads
 * and the same share of the MLP; queries, keys, values and the way up are cut by columns, the
 * output of the attention and the way down by rows, whose products are added over the group: two
 * sums a block. Norms, embedding and head are everybody's.
 *
 * The product of a matrix that is cut by rows is made of one part for each head, added in a tree.
 * So a group of any size computes the same bits. */
#ifndef PHASED_WORKER_MODEL_DECODE_H
#define PHASED_WORKER_MODEL_DECODE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct group;
struct model;

struct decode;

/* `group->size` divides the heads, whose number is a power of two. The model and the group are
 * borrowed. Sequences have at most `length_max` tokens. */
struct decode *decode_new(const struct model *model, struct group *group, size_t batch_max,
                          size_t length_max);
void decode_free(struct decode *decode);

/* Begins `batch` new sequences; those before are forgotten. */
void decode_begin(struct decode *decode, size_t batch);

/* Adds one token to each sequence. ret_logits[batch x MODEL_VOCABULARY], the last loop's, are those
 * of the token after it; borrowed until the next call. */
int decode_step(struct decode *decode, const uint8_t *ids, const float **ret_logits,
                struct error *err);

#endif
