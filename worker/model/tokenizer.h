/* From bytes to tokens and back.
 *
 * A text is cut into words first, and no token crosses the border of a word. The words follow the
 * pattern of GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners";
 * encoder.py of its code), but by bytes: a word is a run of letters, of digits, or of other
 * characters, each with the one space before it, or a run of white space. A byte above 127 counts
 * as a letter, so the letters of any UTF-8 text stay together. English contractions have no rule of
 * their own. A longer word is cut after VOCABULARY_TOKEN_SIZE_MAX bytes.
 *
 * Within a word, two neighbours become one token, again and again, until no merge fits. The pair
 * with the earliest merge in the vocabulary comes first. */
#ifndef PHASED_WORKER_MODEL_TOKENIZER_H
#define PHASED_WORKER_MODEL_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

struct vocabulary;

struct tokenizer {
    const struct vocabulary *vocabulary;
    struct tokenizer_word *words; /* words that were met lately, with their tokens */
};

/* Borrows the vocabulary. */
void tokenizer_init(struct tokenizer *tokenizer, const struct vocabulary *vocabulary);
void tokenizer_fini(struct tokenizer *tokenizer);

/* Returns the size of the first word of a text, which is not empty. */
size_t tokenizer_word_size(const uint8_t *bytes, size_t size);

/* Returns the place of a word in a table of words. */
size_t tokenizer_place(const uint8_t *bytes, size_t size, size_t table_size);

/* Encodes the first word of a text, which is not empty. Returns the size of the word. `ret_tokens`
 * has room for VOCABULARY_TOKEN_SIZE_MAX tokens. */
size_t tokenizer_next(struct tokenizer *tokenizer, const uint8_t *bytes, size_t size,
                      uint32_t *ret_tokens, size_t *ret_count);

#endif
