/* The text for training: the bytes of a file, the tokens of a shard, or the text of prose.h. A file
 * is mapped into memory. The last tenth is held out: only evaluations use it.
 *
 * The ids of the n-th row of training are a function of the seed and n alone. So one number is the
 * whole state of the reading, and every rank draws the same row. */
#ifndef PHASED_WORKER_MODEL_DATA_H
#define PHASED_WORKER_MODEL_DATA_H

#include "lib/file.h"

#include <stddef.h>
#include <stdint.h>

struct error;

enum { DATA_FINGERPRINT = 32 };

struct data {
    const char *name;     /* for messages: the path, which the caller keeps */
    struct file_map map;  /* empty without a file */
    char *own;            /* the text of prose.h; NULL: there is a file */
    const void *ids;      /* in the map, or in `own` */
    uint32_t width;       /* bytes of an id: 1 for the bytes of a file */
    uint32_t tokens;      /* each id is lower */
    size_t size, trained; /* ids; the first `trained` ids are for training */
    size_t sequence;
    uint64_t seed;
    uint8_t fingerprint[DATA_FINGERPRINT]; /* of the ids */
    uint8_t vocabulary[DATA_FINGERPRINT];  /* digest of the vocabulary */
};

/* Opens the file; an empty path is the text of prose.h. It must have enough ids for rows of
 * `sequence` ids. A shard is known by its first bytes, and a damaged shard is refused. */
int data_init(struct data *data, const char *path, size_t sequence, uint64_t seed,
              struct error *err);
void data_fini(struct data *data);

/* Copies rows `first` to `first + count` of training, `sequence` ids each. `targets` gets the ids
 * one place later. */
void data_rows(const struct data *data, uint64_t first, size_t count, uint32_t *ids,
               uint32_t *targets);

/* Lets the kernel read these rows from the disk, because they are needed soon. Does not wait. */
void data_expect(const struct data *data, uint64_t first, size_t count);

/* The same as data_rows() for the held-out part, which `rows` rows cover evenly. */
void data_held_out(const struct data *data, size_t rows, size_t first, size_t count, uint32_t *ids,
                   uint32_t *targets);

#endif
