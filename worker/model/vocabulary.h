/* A vocabulary of tokens: the 256 bytes first, then pairs of earlier tokens that were merged. So
 * any bytes can be encoded and decoded without a loss, also bytes that are not UTF-8.
 *
 * Format of the file, little-endian, without gaps:
 *   struct vocabulary_header
 *   struct vocabulary_merge merges[tokens - 256]: token 256 + i is merges[i].left, then .right
 *
 * The digest names the vocabulary: shards and checkpoints keep it. */
#ifndef PHASED_WORKER_MODEL_VOCABULARY_H
#define PHASED_WORKER_MODEL_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct file_map;

enum {
    VOCABULARY_VERSION = 1,
    VOCABULARY_DIGEST = 32,
    VOCABULARY_BYTES = 256,          /* the tokens of one byte */
    VOCABULARY_TOKENS_MAX = 1 << 20, /* about five times as many as in the largest models */
    VOCABULARY_TOKEN_SIZE_MAX = 64,  /* bytes; a word is not longer either (tokenizer.h) */
};

struct vocabulary_header {
    char magic[8]; /* "phvocab\n" */
    uint32_t version;
    uint32_t tokens;
    uint8_t digest[VOCABULARY_DIGEST]; /* BLAKE2b of the header up to here and the merges */
};

struct vocabulary_merge {
    uint32_t left, right;
};

struct vocabulary {
    uint32_t tokens;
    uint8_t digest[VOCABULARY_DIGEST];
    struct vocabulary_merge *merges; /* of the tokens from 256 on */
    uint8_t *bytes;                  /* of all tokens, one after the other */
    uint32_t *offsets;               /* token i has the bytes from offsets[i] to offsets[i + 1] */
    uint32_t *sorted;                /* the tokens from 256 on, by left, then by right */
    uint32_t *first;                 /* sorted[first[i]] is the first one whose left is i */
};

/* Makes a vocabulary of these merges. Takes `take_merges`, memory of malloc(), also on failure.
 * Returns -EINVAL if a merge is impossible: it has a later token, it exists already, or its token
 * is too long. */
int vocabulary_init(struct vocabulary *vocabulary, struct vocabulary_merge *take_merges,
                    uint32_t tokens, struct error *err);
/* Makes the vocabulary of the 256 bytes. */
void vocabulary_init_bytes(struct vocabulary *vocabulary);
void vocabulary_fini(struct vocabulary *vocabulary);

/* Makes a vocabulary of `tokens` tokens from texts: again and again, the pair of neighbouring
 * tokens that is most frequent within words becomes a token. Among equally frequent pairs, the pair
 * with the smaller left token is taken, then the pair with the smaller right token. Returns -ERANGE
 * if fewer pairs occur at least twice. */
int vocabulary_train(struct vocabulary *vocabulary, const struct file_map *texts, size_t text_count,
                     uint32_t tokens, struct error *err);

/* Refuses a file that is cut short, altered or not a vocabulary, with -EINVAL. */
int vocabulary_load(struct vocabulary *vocabulary, const char *path, struct error *err);
/* Replaces the file. */
int vocabulary_save(const struct vocabulary *vocabulary, const char *path, struct error *err);

/* Returns the bytes of a token, borrowed from the vocabulary. `token` is below `tokens`. */
const uint8_t *vocabulary_token(const struct vocabulary *vocabulary, uint32_t token,
                                size_t *ret_size);

/* Returns the token that two neighbours become. 0: no merge joins them. */
uint32_t vocabulary_merged(const struct vocabulary *vocabulary, uint32_t left, uint32_t right);

#endif
