/* `phase-model generate`: goes on writing where each line of a file ends, with the model that
 * `train` made, on one or more processes of this machine.
 *
 * The output is JSON lines in the order of the input, {"line": 0, "prompt": ..., "text": ...}.
 * Lines that are there already are not made again: a run that was stopped goes on at the next line.
 * The text is the most likely one byte by byte, and the same whatever the size of group and batch.
 */
#ifndef PHASED_WORKER_MODEL_GENERATE_H
#define PHASED_WORKER_MODEL_GENERATE_H

#include <stdint.h>
#include <stdio.h>

struct error;

struct generate_options {
    const char *model, *input, *output; /* borrowed from the arguments */
    uint64_t tensor, batch, context, bytes;
};

/* Reads the arguments after "generate"; as arguments_read(). */
int generate_parse(struct generate_options *options, int count, char **arguments,
                   struct error *err);
void generate_print_help(FILE *stream);

/* Returns 0 also where a signal stopped it between two batches. */
int generate_run(const struct generate_options *options, struct error *err);

#endif
