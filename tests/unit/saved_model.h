/* A model whose state says at which step it was, and saving it as several ranks do, in one process.
 * The tests of checkpoints share it. */
#ifndef PHASED_TESTS_UNIT_SAVED_MODEL_H
#define PHASED_TESTS_UNIT_SAVED_MODEL_H

#include "worker/model/checkpoint.h"
#include "worker/model/model.h"
#include "worker/model/saver.h"

struct error;

enum { RANKS_SAVED_MAX = 9, KEPT = 2 };

extern struct kernels *kernels;
extern const struct model_shape shape;
extern const struct model_rank alone;
extern const struct checkpoint_position position; /* but for the step */

int open_kernels(void **state);
int close_kernels(void **state);

/* Makes the model of a rank after `step` steps. */
void init_model(struct model *model, uint64_t step, struct model_rank rank);
void assert_weights(const struct model *model, uint64_t step);
/* Checks the weights, and the moments that the rank owns. */
void assert_model(const struct model *model, uint64_t step);

/* Ranks that save together. */
struct saving {
    unsigned size;
    struct model models[RANKS_SAVED_MAX];
    struct saver *savers[RANKS_SAVED_MAX];
};
void saving_begin(struct saving *saving, unsigned size, uint64_t step);
/* Lets the ranks meet until no checkpoint is being written. */
void saving_wait(struct saving *saving);
void saving_end(struct saving *saving);

/* Saves a checkpoint of the step, without a failure. */
void save(unsigned size, uint64_t step);

#endif
