/* A checkpoint: one file with all that training needs to continue as if it had never stopped.
 *
 * Format, little-endian, without gaps between the parts:
 *   struct checkpoint_header
 *   float weights[parameters], moment1[parameters], moment2[parameters]: the same for any number of
 *     ranks, so a training can go on with another number
 *   uint8_t checksum[32]: BLAKE2b (libsodium's generichash) of all bytes before it
 *
 * A file with the name of a checkpoint is always whole. `step_000150.ckpt` is the state after 150
 * steps. */
#ifndef PHASED_WORKER_MODEL_CHECKPOINT_H
#define PHASED_WORKER_MODEL_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct model;
struct model_shape;
struct ranks;

enum { CHECKPOINT_VERSION = 2, CHECKPOINT_CHECKSUM = 32 };

struct checkpoint_header {
    char magic[8]; /* "phmodel\n" */
    uint32_t version;
    uint32_t vocabulary, width, depth, heads, kv_heads, hidden, loops, tied;
    uint32_t sequence; /* tokens in a row of training: later positions are unknown to the model */
    uint64_t parameters;
    uint64_t step;           /* steps done */
    uint64_t rows;           /* rows of text that were used: reading continues there */
    uint64_t seed;           /* for the first weights and for the rows */
    uint8_t fingerprint[32]; /* of the text */
    uint8_t digest[32];      /* of the vocabulary */
};

/* The state of a run apart from weights and shape. */
struct checkpoint_position {
    uint64_t step, rows, seed;
    uint8_t fingerprint[32]; /* of the text */
    uint8_t digest[32];      /* of the vocabulary */
};

/* Writes FOLDER/step_<step>.ckpt through a temporary file, fsync and rename. All ranks of a
 * training call this in the same step, because each has a part of the state. Rank 0 writes the
 * file. It takes a few MiB of memory, for a model of any size. *ret_path is set in rank 0 and is
 * the caller's to free(). In the other ranks only a lost connection is an error. */
int checkpoint_save(const char *folder, const struct model *model, struct ranks *ranks,
                    const struct checkpoint_position *position, char **ret_path, struct error *err);

/* Reads a whole checkpoint and returns the shape of its model, how many tokens its rows of training
 * had, and the digest of its vocabulary. Refuses a file that is cut short, altered or of an
 * impossible shape. */
int checkpoint_shape(const char *path, struct model_shape *ret_shape, size_t *ret_sequence,
                     uint8_t ret_digest[32], struct error *err);

/* Fills the weights and moments of a model of the same shape. Refuses a file that is cut short,
 * altered or of another shape, and does not change the model then. ret_checksum may be NULL. */
int checkpoint_load(const char *path, struct model *model, struct checkpoint_position *ret_position,
                    uint8_t ret_checksum[CHECKPOINT_CHECKSUM], struct error *err);

/* Fills only the weights, from a file that checkpoint_shape() has read. */
int checkpoint_load_weights(const char *path, struct model *model, struct error *err);

/* Removes checkpoints of steps before `step`, except the newest `keep` - 1. Does not touch later
 * steps: another run has left them. */
int checkpoint_prune(const char *folder, uint64_t step, size_t keep, struct error *err);

#endif
