/* `phase-model tokenize`: makes a vocabulary from texts, or writes the tokens of texts to a
 * shard. */
#ifndef PHASED_WORKER_MODEL_TOKENIZE_H
#define PHASED_WORKER_MODEL_TOKENIZE_H

#include "worker/model/arguments.h"

#include <stdint.h>
#include <stdio.h>

struct error;

struct tokenize_options {
    const char *vocabulary, *out;
    uint64_t tokens; /* 0: the vocabulary exists */
    struct argument_words texts;
};

/* Reads the arguments after "tokenize". Returns what arguments_read() returns. */
int tokenize_parse(struct tokenize_options *options, int count, char **arguments,
                   struct error *err);
void tokenize_print_help(FILE *stream);

int tokenize_run(const struct tokenize_options *options, struct error *err);

#endif
