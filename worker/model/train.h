/* Training, from options to the last checkpoint, as one of one or more ranks. */
#ifndef PHASED_WORKER_MODEL_TRAIN_H
#define PHASED_WORKER_MODEL_TRAIN_H

struct error;
struct options;
struct ranks_place;

/* Trains until options->iterations, or until a stop is requested. Both are a success. Rank 0 prints
 * the log to standard output. */
int train_run(const struct options *options, const struct ranks_place *place, struct error *err);

#endif
