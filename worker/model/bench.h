/* `phase-model bench`: how long each part of a step of training takes, beside its limit, and then
 * whole steps of training and of generation.
 *
 * The limit of a part is what the device needs at the speeds that it has just shown: its operations
 * at the rate of a large product, or its bytes at the rate of a sum of large arrays, whichever is
 * longer. A step of generation is a part of its own. */
#ifndef PHASED_WORKER_MODEL_BENCH_H
#define PHASED_WORKER_MODEL_BENCH_H

struct error;
struct options;

/* Prints a table for the model, batch and row length of the options. */
int bench_run(const struct options *options, struct error *err);

#endif
