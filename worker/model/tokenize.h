/* `phase-model tokenize`: makes a vocabulary from texts, or writes the tokens of texts to a
 * shard. */
#ifndef PHASED_WORKER_MODEL_TOKENIZE_H
#define PHASED_WORKER_MODEL_TOKENIZE_H

#include "lib/option.h"

#include <stdint.h>

struct error;

struct tokenize_options {
    const char *vocabulary, *out;
    uint64_t tokens;               /* 0: the vocabulary exists */
    struct option_arguments texts; /* their paths */
};

/* Reads the words after "tokenize". Returns what options_read() returns. */
int tokenize_read(struct tokenize_options *options, char **words);

int tokenize_run(const struct tokenize_options *options, struct error *err);

#endif
