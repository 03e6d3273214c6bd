/* A checkpoint: one folder with all that training needs to continue as if it had never stopped.
 *
 *   step_000150.ckpt/   the state after 150 steps
 *     rank_0, ...       the parts of the weights and moments that each rank owned
 *     marker            what the checkpoint is, and the digest of each of these files
 *
 * A folder with the name of a checkpoint is always whole: while the ranks write, its name ends in
 * ".tmp". When all files are on the disk, rank 0 writes the marker and renames the folder.
 *
 * Format, little-endian, without gaps. A digest is BLAKE2b (libsodium's generichash).
 *   marker: struct checkpoint_header; uint8_t digests[ranks][32], one for each file; uint8_t
 *     digest[32] of all bytes before it
 *   rank_<r>: float weights[], moment1[], moment2[], each for the part of each bucket that the rank
 *     owned, as ranks_part() says; the gains are in rank_0 (model.h). Then uint8_t digest[32] of
 *     all bytes before it.
 * So a training can go on with another number of ranks. */
#ifndef PHASED_WORKER_MODEL_CHECKPOINT_H
#define PHASED_WORKER_MODEL_CHECKPOINT_H

#include "lib/file.h"

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct model;
struct model_bucket;
struct model_shape;

enum { CHECKPOINT_VERSION = 3, CHECKPOINT_DIGEST = 32, CHECKPOINT_ARRAYS = 3 };

struct checkpoint_header {
    char magic[8]; /* "phmodel\n" */
    uint32_t version;
    uint32_t vocabulary, width, depth, heads, kv_heads, hidden, loops, tied;
    uint32_t sequence; /* tokens in a row of training: later positions are unknown to the model */
    uint64_t parameters;
    uint64_t step;           /* steps done */
    uint64_t rows;           /* rows of text that were used: reading continues there */
    uint64_t seed;           /* for the first weights and for the rows */
    uint64_t ranks;          /* how many ranks wrote the checkpoint */
    uint8_t fingerprint[32]; /* of the text */
    uint8_t digest[32];      /* of the vocabulary */
};

/* The state of a run apart from weights and shape. */
struct checkpoint_position {
    uint64_t step, rows, seed;
    uint8_t fingerprint[32]; /* of the text */
    uint8_t digest[32];      /* of the vocabulary */
};

/* Returns FOLDER/step_<step>.ckpt, which the caller frees. */
char *checkpoint_path(const char *folder, uint64_t step);

/* Returns how many numbers of a bucket a rank writes. */
size_t checkpoint_share(const struct model_bucket *bucket, unsigned rank, unsigned size);

/* The file of one rank in a checkpoint that is being written. */
struct checkpoint_part {
    struct file_change file;
    crypto_generichash_state state; /* the digest of all bytes so far */
};
/* Makes the folder, if no other rank has made it yet. After a failure there is nothing to end. */
int checkpoint_part_begin(struct checkpoint_part *part, const char *folder, uint64_t step,
                          unsigned rank, struct error *err);
int checkpoint_part_write(struct checkpoint_part *part, const void *data, size_t size,
                          struct error *err);
/* Ends the file if `status`, the result of the writing, is 0: the file is on the disk then. Removes
 * it otherwise, and returns `status` with the error unchanged. */
int checkpoint_part_end(struct checkpoint_part *part, int status, struct error *err);

/* Turns the files that all `ranks` have written into a checkpoint. Fails if the file of a rank is
 * not there, as in a folder that the nodes do not share. Reads nothing of the model that training
 * changes. */
int checkpoint_complete(const char *folder, const struct model *model, unsigned ranks,
                        const struct checkpoint_position *position, struct error *err);

/* Removes what the ranks have written of a checkpoint that did not become complete. A checkpoint
 * that gave way for it gets its name back. */
int checkpoint_drop(const char *folder, uint64_t step, struct error *err);

/* Removes what earlier runs have left of checkpoints that did not become complete. */
int checkpoint_clean(const char *folder, struct error *err);

/* Removes checkpoints of steps before `step`, except the newest `keep` - 1. Does not touch later
 * steps: another run has left them. */
int checkpoint_prune(const char *folder, uint64_t step, size_t keep, struct error *err);

/* Reads a whole checkpoint and returns the shape of its model, how many tokens its rows of training
 * had, and the digest of its vocabulary. Refuses a checkpoint that lacks something, is altered or
 * has an impossible shape. */
int checkpoint_shape(const char *path, struct model_shape *ret_shape, size_t *ret_sequence,
                     uint8_t ret_digest[32], struct error *err);

/* Fills the weights of a model of the same shape, and the moments that its rank owns. Refuses a
 * checkpoint that lacks something, is altered or is of another shape, and does not change the model
 * then. `ret_digest` gets the digest of the whole checkpoint; it may be NULL. */
int checkpoint_load(const char *path, struct model *model, struct checkpoint_position *ret_position,
                    uint8_t ret_digest[CHECKPOINT_DIGEST], struct error *err);

/* Fills only the weights, from a checkpoint that checkpoint_shape() has read. */
int checkpoint_load_weights(const char *path, struct model *model, struct error *err);

#endif
