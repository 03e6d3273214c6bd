/* A count of steps that begins anew in each epoch. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_EPOCH_H
#define PHASED_LIB_METRICS_EPOCH_H

struct values;

/* If `at` has an epoch and how far the program is in the epoch: adds the epoch, counts the step
 * that follows from both, and returns the end. Otherwise returns NULL.
 *
 *   Epoch [1/10], Step [100/600]     | epoch 1 | 200/2983 batches |
 *   Epoch: [0][10/100]               Train Epoch: 1 [640/60000 (1%)]
 *
 * Does not read `Epoch 2 step 50/1000`: this step may count the whole run. */
const char *epoch_read(struct values *values, const char *at, const char *end);

#endif
