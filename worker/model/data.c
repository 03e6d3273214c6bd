/* Reads the text and takes rows from it. */
#include "worker/model/data.h"

#include "lib/error.h"
#include "lib/file.h"
#include "worker/model/random.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static const size_t data_size_max = (size_t)4 << 30; /* the text is held in memory */

int data_init(struct data *data, const char *path, size_t sequence, uint64_t seed,
              struct error *err)
{
    *data = (struct data){.sequence = sequence, .seed = seed};
    char *bytes;
    int result = file_read(path, data_size_max, &bytes, &data->size, err);
    if (result < 0)
        return result;
    data->bytes = (uint8_t *)bytes;
    size_t held_out = data->size / 10;
    held_out = held_out > sequence + 1 ? held_out : sequence + 1;
    if (data->size < held_out + sequence + 1) {
        result =
            error_set(err, -EINVAL, "cannot train on %s: %zu bytes, rows of %zu need at least %zu",
                      path, data->size, sequence, 2 * (sequence + 1));
        data_fini(data);
        return result;
    }
    data->trained = data->size - held_out;
    (void)crypto_generichash(data->fingerprint, sizeof data->fingerprint, data->bytes, data->size,
                             NULL, 0); /* fails only for wrong sizes */
    return 0;
}

void data_fini(struct data *data)
{
    free(data->bytes);
    *data = (struct data){0};
}

static void copy_row(const struct data *data, size_t offset, size_t row, uint32_t *ids,
                     uint32_t *targets)
{
    const uint8_t *bytes = data->bytes + offset;
    for (size_t i = 0; i < data->sequence; i++) {
        ids[row * data->sequence + i] = bytes[i];
        targets[row * data->sequence + i] = bytes[i + 1];
    }
}

void data_rows(const struct data *data, uint64_t first, size_t count, uint32_t *ids,
               uint32_t *targets)
{
    size_t places = data->trained - data->sequence;
    for (size_t row = 0; row < count; row++)
        copy_row(data, random_at(data->seed, first + row) % places, row, ids, targets);
}

void data_held_out(const struct data *data, size_t rows, size_t first, size_t count, uint32_t *ids,
                   uint32_t *targets)
{
    size_t last = data->size - data->trained - data->sequence - 1;
    for (size_t row = 0; row < count; row++) {
        size_t offset = rows > 1 ? last * (first + row) / (rows - 1) : 0;
        copy_row(data, data->trained + offset, row, ids, targets);
    }
}
