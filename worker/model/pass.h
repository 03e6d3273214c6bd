/* The forward and backward passes of a model over batches of text.
 *
 * A pass owns the activations of one batch, in the memory of the backend. Its functions do not
 * wait for the kernels, apart from pass_losses(). */
#ifndef PHASED_WORKER_MODEL_PASS_H
#define PHASED_WORKER_MODEL_PASS_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct model;
struct pass;

/* Makes room for batches of at most `batch_max` sequences, which all have `model->sequence` tokens.
 * The model is borrowed. Returns NULL if memory is missing. */
struct pass *pass_new(struct model *model, size_t batch_max, struct error *err);
void pass_free(struct pass *pass);

enum pass_round {
    PASS_MORE_ROUNDS,
    PASS_LAST_ROUND, /* each part of the gradient is summed over the ranks when it is complete */
};

/* Runs forward and backward over `batch` sequences of ids, each with its `targets`. The sum of the
 * losses of all tokens is added to the loss of each loop. The gradient of the sum over loops of
 * scales[loop] times this sum is added to the gradient of the model. */
void pass_learn(struct pass *pass, const uint32_t *ids, const uint32_t *targets, size_t batch,
                const float *scales, enum pass_round round);

/* Runs only forward. Adds the sum of the losses of all tokens to the loss of each loop. */
void pass_evaluate(struct pass *pass, const uint32_t *ids, const uint32_t *targets, size_t batch);

/* Returns the loss of each loop since the losses were cleared. Waits. */
void pass_losses(const struct pass *pass, double *ret_losses);
void pass_clear_losses(struct pass *pass);

#endif
