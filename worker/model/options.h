/* The options of `phase-model train`, which `phase-model bench` takes, too. */
#ifndef PHASED_WORKER_MODEL_OPTIONS_H
#define PHASED_WORKER_MODEL_OPTIONS_H

#include <stdint.h>

struct model_shape;

struct options {
    /* Borrowed from the words. */
    const char *data, *out, *resume, *model, *preset, *device, *precision;
    uint64_t iterations, device_batch_size, grad_accum, sequence_length;
    uint64_t tokens, depth, width, heads, kv_heads, hidden, loops, tied;
    double matrix_lr, embedding_lr, weight_base, grad_clip, weight_decay;
    uint64_t warmup, seed;
    uint64_t save_every, keep, eval_every, log_every, pace_ms;
    uint64_t is_fp8; /* 0 or 1, as `precision` says */
    uint64_t rendezvous_timeout_s, collective_timeout_s;
};

/* Reads the words after the command; `name` is "phase-model" and the command. Returns -1 if the
 * program can go on, otherwise prints the help or what is wrong, and returns the exit code. */
int options_read(struct options *options, const char *name, char **words);

/* Returns the shape of the model that the options describe. `tokens` counts only if --tokens is 0.
 * The number of tokens is rounded up. No text has the tokens beyond, so the model learns not to
 * expect them, and they are never drawn. */
struct model_shape options_shape(const struct options *options, uint32_t tokens);

#endif
