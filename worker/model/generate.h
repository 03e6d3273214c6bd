/* `phase-model generate`: continues each line of a file, with the model that `train` made, on one
 * or more processes of this machine.
 *
 * The output is JSON lines in the order of the input, {"line": 0, "prompt": ..., "text": ...}.
 * Lines that the output has already are not generated again, so a run that was stopped continues at
 * the next line. Each token of the text is drawn by sample.h, with random numbers of the line's
 * own. On CPUs the group size, the batch size, the size of the cache and a stop do not change the
 * text. On GPUs the number of GPUs and the number of rows in a step can change the rounding of a
 * sum, and so the text. */
#ifndef PHASED_WORKER_MODEL_GENERATE_H
#define PHASED_WORKER_MODEL_GENERATE_H

#include "worker/model/sample.h"

#include <stdint.h>

struct error;

struct generate_options {
    const char *model, *input, *output, *vocabulary, *device; /* borrowed from the words */
    uint64_t tensor, batch, cache, context, bytes;
    struct sample_options sample;
};

/* Reads the words after "generate". Returns what options_read() returns. */
int generate_read(struct generate_options *options, char **words);

/* Returns 0 also if a signal stopped it. */
int generate_run(const struct generate_options *options, struct error *err);

#endif
