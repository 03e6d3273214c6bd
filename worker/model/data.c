/* Opens the text and takes rows from it. */
#include "worker/model/data.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/model/prose.h"
#include "worker/model/random.h"
#include "worker/model/shard.h"
#include "worker/model/vocabulary.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert((int)SHARD_DIGEST == (int)DATA_FINGERPRINT, "a checksum is a fingerprint");

static void take_bytes(struct data *data, const void *ids, size_t size)
{
    data->ids = ids;
    data->width = 1;
    data->size = size;
    struct vocabulary bytes;
    vocabulary_init_bytes(&bytes);
    data->tokens = bytes.tokens;
    memcpy(data->vocabulary, bytes.digest, sizeof data->vocabulary);
    vocabulary_fini(&bytes);
    (void)crypto_generichash(data->fingerprint, sizeof data->fingerprint, data->ids, data->size,
                             NULL, 0); /* fails only for wrong sizes */
}

static void take_prose(struct data *data)
{
    struct text text = {0};
    prose_add(&text, PROSE_BYTES);
    data->own = text_steal(&text);
    take_bytes(data, data->own, PROSE_BYTES);
}

static int take_shard(struct data *data, const char *path, struct error *err)
{
    struct shard_header header;
    int status = shard_check(&data->map, path, &header, err);
    if (status < 0)
        return status;
    data->ids = (const uint8_t *)data->map.data + sizeof header;
    data->width = header.width;
    data->size = header.count;
    data->tokens = (uint32_t)header.tokens; /* a checked shard has few enough */
    memcpy(data->fingerprint, header.checksum, sizeof data->fingerprint);
    memcpy(data->vocabulary, header.vocabulary, sizeof data->vocabulary);
    return 0;
}

int data_init(struct data *data, const char *path, size_t sequence, uint64_t seed,
              struct error *err)
{
    *data = (struct data){.sequence = sequence, .seed = seed};
    data->name = *path ? path : "the text of phase-model";
    int status = *path ? file_map(path, &data->map, err) : 0;
    if (status < 0)
        return status;
    if (!*path)
        take_prose(data);
    else if (shard_is_one(&data->map))
        status = take_shard(data, path, err);
    else
        take_bytes(data, data->map.data, data->map.size);
    size_t held_out = data->size / 10;
    held_out = held_out > sequence + 1 ? held_out : sequence + 1;
    if (status == 0 && data->size < held_out + sequence + 1)
        status = error_set(
            err, -EINVAL, "cannot train on %s: %zu %s, rows of %zu need at least %zu", data->name,
            data->size, data->width == 1 ? "bytes" : "tokens", sequence, 2 * (sequence + 1));
    if (status < 0) {
        data_fini(data);
        return status;
    }
    data->trained = data->size - held_out;
    return 0;
}

void data_fini(struct data *data)
{
    file_unmap(&data->map);
    free(data->own);
    *data = (struct data){0};
}

static uint32_t id_at(const struct data *data, size_t place)
{
    if (data->width == sizeof(uint32_t))
        return ((const uint32_t *)data->ids)[place];
    if (data->width == sizeof(uint16_t))
        return ((const uint16_t *)data->ids)[place];
    return ((const uint8_t *)data->ids)[place];
}

static void copy_row(const struct data *data, size_t place, size_t row, uint32_t *ids,
                     uint32_t *targets)
{
    for (size_t i = 0; i < data->sequence; i++) {
        ids[row * data->sequence + i] = id_at(data, place + i);
        targets[row * data->sequence + i] = id_at(data, place + i + 1);
    }
}

static size_t place_of(const struct data *data, uint64_t row)
{
    return random_at(data->seed, row) % (data->trained - data->sequence);
}

void data_rows(const struct data *data, uint64_t first, size_t count, uint32_t *ids,
               uint32_t *targets)
{
    for (size_t row = 0; row < count; row++)
        copy_row(data, place_of(data, first + row), row, ids, targets);
}

void data_expect(const struct data *data, uint64_t first, size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (data->own)
        return;
    size_t before = (size_t)((const char *)data->ids - (const char *)data->map.data);
    for (size_t row = 0; row < count; row++) {
        size_t begin = before + place_of(data, first + row) * data->width;
        size_t end = begin + (data->sequence + 1) * data->width;
        begin = begin / page * page;
        /* A refusal only costs time. */
        (void)posix_madvise((char *)data->map.data + begin, end - begin, POSIX_MADV_WILLNEED);
    }
}

void data_held_out(const struct data *data, size_t rows, size_t first, size_t count, uint32_t *ids,
                   uint32_t *targets)
{
    size_t last = data->size - data->trained - data->sequence - 1;
    for (size_t row = 0; row < count; row++) {
        size_t place = rows > 1 ? last * (first + row) / (rows - 1) : 0;
        copy_row(data, data->trained + place, row, ids, targets);
    }
}
