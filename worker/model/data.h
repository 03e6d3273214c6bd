/* The text that is trained on: the bytes of one file. The last tenth is held out and only measured.
 *
 * Which bytes make up the n-th row ever trained is a function of the seed and n alone. So the whole
 * state of the reading is one number, and a row is the same whichever rank draws it. */
#ifndef PHASED_WORKER_MODEL_DATA_H
#define PHASED_WORKER_MODEL_DATA_H

#include <stddef.h>
#include <stdint.h>

struct error;

enum { DATA_FINGERPRINT = 32 };

struct data {
    uint8_t *bytes;
    size_t size, trained; /* the first `trained` bytes are trained on */
    size_t sequence;
    uint64_t seed;
    uint8_t fingerprint[DATA_FINGERPRINT]; /* of the bytes */
};

/* Reads the file, which must hold enough for rows of `sequence` bytes. */
int data_init(struct data *data, const char *path, size_t sequence, uint64_t seed,
              struct error *err);
void data_fini(struct data *data);

/* Copies rows `first` to `first + count` of training: `sequence` bytes each, and in `targets` those
 * one place on. */
void data_rows(const struct data *data, uint64_t first, size_t count, uint8_t *ids,
               uint8_t *targets);

/* The same for the held-out part, which `rows` rows cover evenly. */
void data_held_out(const struct data *data, size_t rows, size_t first, size_t count, uint8_t *ids,
                   uint8_t *targets);

#endif
