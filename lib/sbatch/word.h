/* Reads words as a shell does: without their quotes. */
#ifndef PHASED_LIB_SBATCH_WORD_H
#define PHASED_LIB_SBATCH_WORD_H

#include "lib/text.h"

#include <stddef.h>

/* Words that were read, one after another, and where each of their bytes stands in the script. */
struct word_text {
    struct text text;
    const char **places;
    size_t capacity;
};

void word_text_fini(struct word_text *words);

/* Adds one byte that stands at `place`. */
void word_text_add(struct word_text *words, char byte, const char *place);

/* Adds the word at `at` and returns where it ends. Variables and substitutions stay as they are
 * written, since their values are unknown. */
const char *word_read(const char *at, struct word_text *words);

#endif
