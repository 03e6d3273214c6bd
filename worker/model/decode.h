/* Generation: the model reads the next tokens of some sequences in each step, and keeps their keys
 * and values.
 *
 * A step is a batch of rows. A row is a token at its position in its sequence. A step can take one
 * row of a sequence, such as the token that was drawn last, or many, such as a part of a prompt.
 *
 * All sequences share a pool of pages, each with room for the keys and values of KERNEL_PAGE tokens
 * in all layers. A sequence is nothing but its pages and its length, so each step can take other
 * sequences, of any length. On a CPU the bits of the logits of a sequence do not depend on its
 * pages, on the other sequences, or on the number of steps that read its tokens.
 *
 * It is tensor-parallel as in Megatron-LM (Shoeybi et al. 2019). Each rank of a group has some
 * heads with their keys and values, and the same share of the MLP. The matrices for queries, keys,
 * values and the way up are cut by columns. The matrices for the output of the attention and the
 * way down are cut by rows, and their products are added over the ranks of the kernels: two sums
 * for each block. The head is cut by the vocabulary, as ranks_part() says: each rank computes the
 * logits of its share, and rank 0, which draws the tokens, gets the shares of all ranks. Every rank
 * computes all norms, and looks up tokens in the whole embedding. So the model of a rank holds the
 * whole embedding, all gains, and the share of the rank of all other weights (model_init()).
 *
 * The product of a matrix that is cut by rows consists of as many parts as the largest possible
 * group has ranks. On a CPU the parts are added in a tree, so a group of any size computes the same
 * bits. */
#ifndef PHASED_WORKER_MODEL_DECODE_H
#define PHASED_WORKER_MODEL_DECODE_H

#include "worker/model/kernels.h"
#include "worker/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct decode;

/* Returns the size of the largest group that a model can use: a power of two, which divides the
 * heads, the heads of keys and values, and the width inside the MLP. Smaller powers of two are
 * possible too. */
unsigned decode_group_max(const struct model_shape *shape);

/* The keys and values that are kept of one sequence. Zero-initialised: the sequence is empty. The
 * caller passes it to decode_release() at the end. */
struct decode_kept {
    size_t length; /* tokens of which keys and values are kept */
    uint32_t *pages;
    size_t page_count;
};

/* Returns how many pages a sequence of `length` tokens needs. */
size_t decode_pages(size_t length);

/* The model is borrowed. Its rank is the rank of the group, and the size of the group is possible
 * as decode_group_max() says. Its kernels have joined the group (kernels_join()). The model was
 * made for sequences of at least `length_max` tokens. A step takes at most `batch_max` sequences
 * and `rows_max` rows. The pool has `pages` pages. If memory is missing, kernels_status() tells. */
struct decode *decode_new(const struct model *model, size_t batch_max, size_t rows_max,
                          size_t length_max, size_t pages);
void decode_free(struct decode *decode);

/* Gives a sequence all pages that it needs for `length` tokens. Returns false, and gives no page,
 * if the pool has fewer. */
bool decode_reserve(struct decode *decode, struct decode_kept *kept, size_t length);
/* Returns the pages to the pool. The sequence is empty afterwards. */
void decode_release(struct decode *decode, struct decode_kept *kept);

/* The tokens of a sequence that a step reads: the next `count` >= 1. */
struct decode_piece {
    struct decode_kept *kept; /* has the pages for them */
    const uint32_t *ids;
    size_t count;
};

/* Reads a piece of each of `batch` sequences. Does not wait; decode_draw() tells of a failure. */
void decode_step(struct decode *decode, const struct decode_piece *pieces, size_t batch);

/* Returns the logits of the last loop for the token after each piece of the step, in the memory of
 * the backend. Only rank 0 has those of all classes. Borrowed until the next step. */
const kernel_number *decode_logits(const struct decode *decode, struct kernel_parts *ret_parts);

/* Waits for the step. Rank 0 draws the token after each piece, with a random number for each piece.
 * Other ranks draw nothing. */
int decode_draw(struct decode *decode, const struct kernel_draw_options *how, const double *randoms,
                uint32_t *ret_tokens, struct error *err);

#endif
