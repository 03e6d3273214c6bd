/* The options of `phase-model train`. */
#ifndef PHASED_WORKER_MODEL_OPTIONS_H
#define PHASED_WORKER_MODEL_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

struct error;
struct model_shape;

struct options {
    /* Borrowed from the arguments. */
    const char *data, *out, *resume, *model, *preset, *device, *precision;
    uint64_t iterations, device_batch_size, grad_accum, sequence_length;
    uint64_t tokens, depth, width, heads, kv_heads, hidden, loops, tied;
    double matrix_lr, embedding_lr, weight_base, grad_clip, weight_decay;
    uint64_t warmup, seed;
    uint64_t save_every, keep, eval_every, log_every, pace_ms;
    uint64_t is_fp8; /* 0 or 1, as `precision` says */
    uint64_t rendezvous_timeout_s, collective_timeout_s;
};

enum options_wish { OPTIONS_TRAIN, OPTIONS_HELP };

/* Reads the arguments after "train". Returns an options_wish. -EINVAL: the form is wrong (an
 * unknown option, a missing value). -ERANGE: a value is wrong. */
int options_parse(struct options *options, int count, char **arguments, struct error *err);

/* Returns the shape of the model that the options describe. `tokens` counts only if --tokens is 0.
 * The number of tokens is rounded up. No text has the tokens beyond, so the model learns not to
 * expect them, and they are never drawn. */
struct model_shape options_shape(const struct options *options, uint32_t tokens);

void options_print_help(FILE *stream);

#endif
