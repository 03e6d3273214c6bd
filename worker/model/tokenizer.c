/* Cuts a text into words, and words into tokens. Most words of a text are frequent words, so the
 * tokens of words that were met lately are kept. */
#include "worker/model/tokenizer.h"

#include "lib/memory.h"
#include "worker/model/vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEPT_WORDS = 1 << 15, /* about 2.6 MB, which fits into the cache of a processor */
    KEPT_SIZE_MAX = 16,   /* bytes of a word; longer words are rare */
};

/* A word and its tokens. A new word takes the place of an older word with the same hash. */
struct tokenizer_word {
    uint8_t size, count; /* size 0: no word */
    uint8_t bytes[KEPT_SIZE_MAX];
    uint32_t tokens[KEPT_SIZE_MAX];
};

enum class { CLASS_SPACE, CLASS_LETTER, CLASS_DIGIT, CLASS_OTHER };

static enum class class_of(uint8_t byte) {
    if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return CLASS_SPACE;
    if (byte >= '0' && byte <= '9') return CLASS_DIGIT;
    uint8_t lower = byte | 0x20;
    return byte >= 0x80 || (lower >= 'a' && lower <= 'z') ? CLASS_LETTER : CLASS_OTHER;
}

size_t tokenizer_word_size(const uint8_t *bytes, size_t size)
{
    size_t size_max = size < VOCABULARY_TOKEN_SIZE_MAX ? size : VOCABULARY_TOKEN_SIZE_MAX;
    size_t begin = size > 1 && bytes[0] == ' ' && class_of(bytes[1]) != CLASS_SPACE;
    enum class class = class_of(bytes[begin]);
    size_t end = begin + 1;
    while (end < size_max && class_of(bytes[end]) == class)
        end++;
    /* The last space of a run belongs to the word that follows. */
    if (class == CLASS_SPACE && end > 1 && end < size && bytes[end - 1] == ' ' &&
        class_of(bytes[end]) != CLASS_SPACE)
        end--;
    return end;
}

/* The hash is FNV-1a. */
size_t tokenizer_place(const uint8_t *bytes, size_t size, size_t table_size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return (size_t)(hash ^ (hash >> 32)) % table_size;
}

void tokenizer_init(struct tokenizer *tokenizer, const struct vocabulary *vocabulary)
{
    *tokenizer = (struct tokenizer){
        .vocabulary = vocabulary,
        .words = xcalloc(KEPT_WORDS, sizeof *tokenizer->words),
    };
}

void tokenizer_fini(struct tokenizer *tokenizer)
{
    free(tokenizer->words);
    *tokenizer = (struct tokenizer){0};
}

/* Returns the number of tokens. */
static size_t merge(const struct vocabulary *vocabulary, const uint8_t *bytes, size_t size,
                    uint32_t *tokens)
{
    uint32_t merged[VOCABULARY_TOKEN_SIZE_MAX]; /* what the token and its right neighbour become */
    for (size_t i = 0; i < size; i++) {
        tokens[i] = bytes[i];
        merged[i] = i + 1 < size ? vocabulary_merged(vocabulary, bytes[i], bytes[i + 1]) : 0;
    }
    for (;;) {
        size_t best = size;
        for (size_t i = 0; i + 1 < size; i++)
            if (merged[i] && (best == size || merged[i] < merged[best]))
                best = i;
        if (best == size)
            return size;
        tokens[best] = merged[best];
        size_t after = size - best - 2;
        memmove(&tokens[best + 1], &tokens[best + 2], after * sizeof *tokens);
        memmove(&merged[best + 1], &merged[best + 2], after * sizeof *merged);
        size--;
        if (best > 0)
            merged[best - 1] = vocabulary_merged(vocabulary, tokens[best - 1], tokens[best]);
        merged[best] =
            after > 0 ? vocabulary_merged(vocabulary, tokens[best], tokens[best + 1]) : 0;
    }
}

size_t tokenizer_next(struct tokenizer *tokenizer, const uint8_t *bytes, size_t size,
                      uint32_t *ret_tokens, size_t *ret_count)
{
    size_t word_size = tokenizer_word_size(bytes, size);
    if (word_size > KEPT_SIZE_MAX) {
        *ret_count = merge(tokenizer->vocabulary, bytes, word_size, ret_tokens);
        return word_size;
    }
    struct tokenizer_word *word = &tokenizer->words[tokenizer_place(bytes, word_size, KEPT_WORDS)];
    if (word->size != word_size || memcmp(word->bytes, bytes, word_size) != 0) {
        word->size = (uint8_t)word_size;
        memcpy(word->bytes, bytes, word_size);
        word->count = (uint8_t)merge(tokenizer->vocabulary, bytes, word_size, word->tokens);
    }
    memcpy(ret_tokens, word->tokens, word->count * sizeof *ret_tokens);
    *ret_count = word->count;
    return word_size;
}
