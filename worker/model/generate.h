/* `phase-model generate`: continues each line of a file, with the model that `train` made, on one
 * or more processes of this machine.
 *
 * The output is JSON lines in the order of the input, {"line": 0, "prompt": ..., "text": ...}.
 * Lines that the output has already are not generated again, so a run that was stopped continues at
 * the next line. The random number of a draw is a function of (seed, line, position), so the text
 * of a line does not depend on the lines beside it. On CPUs the group size, the batch size, the
 * size of the cache and a stop do not change the text. On GPUs the number of GPUs and the number of
 * rows in a step can change the rounding of a sum, and so the text. */
#ifndef PHASED_WORKER_MODEL_GENERATE_H
#define PHASED_WORKER_MODEL_GENERATE_H

#include <stdint.h>

struct error;

struct generate_options {
    const char *model, *input, *output, *vocabulary, *device; /* borrowed from the words */
    uint64_t tensor, batch, cache, context, bytes;
    double temperature, top_p;
    uint64_t seed;
};

/* Reads the words after "generate". Returns what options_read() returns. */
int generate_read(struct generate_options *options, char **words);

/* Returns 0 also if a signal stopped it. */
int generate_run(const struct generate_options *options, struct error *err);

#endif
