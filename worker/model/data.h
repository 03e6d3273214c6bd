/* The text for training: the bytes of one file. The last tenth is held out: it is only measured.
 *
 * The bytes of the n-th row of training are a function of the seed and n alone. So one number is
 * the whole state of the reading, and every rank draws the same row. */
#ifndef PHASED_WORKER_MODEL_DATA_H
#define PHASED_WORKER_MODEL_DATA_H

#include <stddef.h>
#include <stdint.h>

struct error;

enum { DATA_FINGERPRINT = 32 };

struct data {
    uint8_t *bytes;
    size_t size, trained; /* the first `trained` bytes are for training */
    size_t sequence;
    uint64_t seed;
    uint8_t fingerprint[DATA_FINGERPRINT]; /* of the bytes */
};

/* Reads the file, which must have enough text for rows of `sequence` bytes. */
int data_init(struct data *data, const char *path, size_t sequence, uint64_t seed,
              struct error *err);
void data_fini(struct data *data);

/* Copies rows `first` to `first + count` of training, `sequence` bytes each. `targets` gets the
 * bytes one place later. */
void data_rows(const struct data *data, uint64_t first, size_t count, uint32_t *ids,
               uint32_t *targets);

/* The same for the held-out part, which `rows` rows cover evenly. */
void data_held_out(const struct data *data, size_t rows, size_t first, size_t count, uint32_t *ids,
                   uint32_t *targets);

#endif
