/* Draws the next token of a text from the logits of a model.
 *
 * The random number of a draw is a function of (seed, line, position). So the text of a line does
 * not depend on the lines beside it, and a line that is made again becomes the same text. On every
 * x86-64, the same logits and options give the same token. */
#ifndef PHASED_WORKER_MODEL_SAMPLE_H
#define PHASED_WORKER_MODEL_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

struct sampler;

struct sample_options {
    double temperature; /* logits are divided by it; 0: the most likely token is taken */
    double top_p; /* the most likely tokens are kept, as few as have this probability together */
    uint64_t seed;
};

/* Makes a sampler for logits of `tokens` different tokens. */
struct sampler *sampler_new(const struct sample_options *options, size_t tokens);
void sampler_free(struct sampler *sampler);

/* Returns a token. `position` counts the tokens that were drawn for the line. Among equally likely
 * tokens the first one is the most likely. If no probability is a number, the most likely token is
 * taken. */
uint32_t sampler_draw(struct sampler *sampler, const float *logits, uint64_t line,
                      uint64_t position);

#endif
