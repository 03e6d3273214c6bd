/* Writes and checks shards. */
#include "worker/model/shard.h"

#include "lib/error.h"
#include "worker/model/vocabulary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is the memory's");
_Static_assert(sizeof(struct shard_header) == 96, "the header has no holes");
_Static_assert((int)SHARD_DIGEST == (int)VOCABULARY_DIGEST, "a shard keeps the whole digest");

static const char magic[8] = {'p', 'h', 's', 'h', 'a', 'r', 'd', '\n'};

enum { NARROW_TOKENS_MAX = 65536, CHUNK = 4096 };

/* The calls on a state of BLAKE2b cannot fail for fixed sizes. */
static void end_checksum(crypto_generichash_state *state, struct shard_header *header)
{
    (void)crypto_generichash_update(state, (const uint8_t *)header,
                                    offsetof(struct shard_header, checksum));
    (void)crypto_generichash_final(state, header->checksum, sizeof header->checksum);
}

int shard_begin(struct shard_writer *writer, const char *path, const struct vocabulary *vocabulary,
                struct error *err)
{
    writer->header = (struct shard_header){
        .version = SHARD_VERSION,
        .width = vocabulary->tokens <= NARROW_TOKENS_MAX ? sizeof(uint16_t) : sizeof(uint32_t),
        .tokens = vocabulary->tokens,
    };
    memcpy(writer->header.magic, magic, sizeof magic);
    memcpy(writer->header.vocabulary, vocabulary->digest, sizeof vocabulary->digest);
    (void)crypto_generichash_init(&writer->state, NULL, 0, SHARD_DIGEST);
    int status = file_change_begin(&writer->change, path, 0666, err);
    if (status < 0)
        return status;
    /* The place of the header: it is written last. */
    status = file_change_write(&writer->change, &(struct shard_header){0},
                               sizeof(struct shard_header), err);
    return status < 0 ? file_change_end(&writer->change, status, err) : 0;
}

int shard_add(struct shard_writer *writer, const uint32_t *ids, size_t count, struct error *err)
{
    uint16_t narrow[CHUNK];
    int status = 0;
    for (size_t done = 0; done < count && status == 0;) {
        size_t part = count - done < CHUNK ? count - done : CHUNK;
        const void *bytes = ids + done;
        if (writer->header.width == sizeof *narrow) {
            for (size_t i = 0; i < part; i++)
                narrow[i] = (uint16_t)ids[done + i];
            bytes = narrow;
        }
        (void)crypto_generichash_update(&writer->state, bytes, part * writer->header.width);
        status = file_change_write(&writer->change, bytes, part * writer->header.width, err);
        done += part;
    }
    writer->header.count += count;
    return status;
}

int shard_end(struct shard_writer *writer, int status, struct error *err)
{
    end_checksum(&writer->state, &writer->header);
    if (status == 0 && lseek(writer->change.fd, 0, SEEK_SET) < 0)
        status = error_set(err, -errno, "cannot write %s: %s", writer->change.temporary,
                           strerror(errno));
    if (status == 0)
        status = file_change_write(&writer->change, &writer->header, sizeof writer->header, err);
    return file_change_end(&writer->change, status, err);
}

bool shard_is_one(const struct file_map *map)
{
    return map->size >= sizeof magic && memcmp(map->data, magic, sizeof magic) == 0;
}

/* Returns the largest id of a shard, which has ids. */
static uint32_t largest_id(const void *ids, const struct shard_header *header)
{
    const uint16_t *narrow = ids;
    const uint32_t *wide = ids;
    uint32_t largest = 0;
    for (size_t i = 0; i < header->count; i++) {
        uint32_t id = header->width == sizeof *narrow ? narrow[i] : wide[i];
        largest = id > largest ? id : largest;
    }
    return largest;
}

static int check(const struct file_map *map, struct shard_header *header, struct error *err)
{
    if (!shard_is_one(map))
        return error_set(err, -EINVAL, "not a shard");
    if (map->size < sizeof *header)
        return error_set(err, -EINVAL, "it ends within its header");
    memcpy(header, map->data, sizeof *header);
    if (header->version != SHARD_VERSION)
        return error_set(err, -EINVAL, "version %u, this program reads %d", header->version,
                         SHARD_VERSION);
    uint32_t width = header->tokens <= NARROW_TOKENS_MAX ? sizeof(uint16_t) : sizeof(uint32_t);
    if (header->tokens < VOCABULARY_BYTES || header->tokens > VOCABULARY_TOKENS_MAX ||
        header->width != width)
        return error_set(err, -EINVAL, "ids of %u bytes for %" PRIu64 " tokens", header->width,
                         header->tokens);
    size_t size = map->size - sizeof *header;
    if (size % width || size / width != header->count)
        return error_set(err, -EINVAL, "%zu bytes for %" PRIu64 " ids of %u bytes", size,
                         header->count, width);
    const uint8_t *ids = (const uint8_t *)map->data + sizeof *header;
    crypto_generichash_state state;
    struct shard_header wanted = *header;
    (void)crypto_generichash_init(&state, NULL, 0, SHARD_DIGEST);
    (void)crypto_generichash_update(&state, ids, size);
    end_checksum(&state, &wanted);
    if (memcmp(wanted.checksum, header->checksum, sizeof wanted.checksum) != 0)
        return error_set(err, -EINVAL, "its checksum is wrong");
    uint32_t largest = largest_id(ids, header);
    if (largest >= header->tokens)
        return error_set(err, -EINVAL, "the id %u of a vocabulary of %" PRIu64 " tokens", largest,
                         header->tokens);
    return 0;
}

int shard_check(const struct file_map *map, const char *path, struct shard_header *ret_header,
                struct error *err)
{
    struct error reason;
    int status = check(map, ret_header, &reason);
    return status < 0 ? error_set(err, status, "cannot read %s: %s", path, reason.message) : 0;
}
