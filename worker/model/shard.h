/* A shard: the tokens of a text in one file, which is mapped into memory for training.
 *
 * Format, little-endian, without gaps:
 *   struct shard_header
 *   uint16_t ids[count], or uint32_t if `width` is 4
 *
 * A file with the name of a shard is always whole. */
#ifndef PHASED_WORKER_MODEL_SHARD_H
#define PHASED_WORKER_MODEL_SHARD_H

#include "lib/file.h"

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct vocabulary;

enum { SHARD_VERSION = 1, SHARD_DIGEST = 32 };

struct shard_header {
    char magic[8]; /* "phshard\n" */
    uint32_t version;
    uint32_t width;  /* bytes of an id: 2 if the vocabulary has at most 65,536 tokens, else 4 */
    uint64_t count;  /* ids */
    uint64_t tokens; /* of the vocabulary: each id is lower */
    uint8_t vocabulary[SHARD_DIGEST];
    uint8_t checksum[SHARD_DIGEST]; /* BLAKE2b of the ids, then of the header up to here */
};

/* A shard that is being written. */
struct shard_writer {
    struct shard_header header;
    struct file_change change;
    crypto_generichash_state state;
};

/* Begins to replace the file `path`. After a failure there is nothing to end. */
int shard_begin(struct shard_writer *writer, const char *path, const struct vocabulary *vocabulary,
                struct error *err);
int shard_add(struct shard_writer *writer, const uint32_t *ids, size_t count, struct error *err);
/* Makes the file appear if `status`, the result of the writing, is 0. Removes it otherwise, and
 * returns `status` with the error unchanged. */
int shard_end(struct shard_writer *writer, int status, struct error *err);

/* Whether the bytes of a file begin like a shard. */
bool shard_is_one(const struct file_map *map);

/* Checks the bytes of the file `path`: the header, the size, the checksum and each id. Returns
 * -EINVAL if something is wrong. The ids are the bytes after the header. */
int shard_check(const struct file_map *map, const char *path, struct shard_header *ret_header,
                struct error *err);

#endif
