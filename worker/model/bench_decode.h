/* The time of a step of generation, for `phase-model bench`. */
#ifndef PHASED_WORKER_MODEL_BENCH_DECODE_H
#define PHASED_WORKER_MODEL_BENCH_DECODE_H

#include <stddef.h>

struct error;
struct kernels;
struct model_shape;

struct bench_decode {
    double taken_s; /* by a step that reads and draws a token of each line */
    double operations;
    double bytes; /* of the weights, keys and values that a step must read; gains are left out */
};

/* Measures steps of lines[0] lines, lines[1] lines and so on. Each line has `length` tokens, and
 * each step reads the last token of each line again. After a failure `taken_s` stays 0 for the
 * steps that are not measured. `ret_steps`[count] must be zeroed. */
int bench_decode(struct kernels *kernels, const struct model_shape *shape, size_t length,
                 const size_t *lines, size_t count, struct bench_decode *ret_steps,
                 struct error *err);

#endif
