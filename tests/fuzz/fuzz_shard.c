/* Any bytes as a shard: as they are, and with a right checksum. What can be read has no id outside
 * of the vocabulary. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "worker/model/shard.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "shard";

static void fuzz_check(uint8_t *bytes, size_t size)
{
    struct file_map map = {bytes, size};
    struct shard_header header;
    struct error err;
    if (shard_check(&map, "shard", &header, &err) < 0) {
        assert(err.message[0]);
        return;
    }
    assert(header.width == 2 || header.width == 4);
    assert(sizeof header + header.count * header.width == size);
    for (size_t i = 0; i < header.count; i++) {
        uint32_t id = 0;
        memcpy(&id, bytes + sizeof header + i * header.width, header.width);
        assert(id < header.tokens);
    }
}

/* Sets the checksum as the comment of the format says. */
static void fuzz_repair(uint8_t *bytes, size_t size)
{
    crypto_generichash_state state;
    struct shard_header header;
    memcpy(&header, bytes, sizeof header);
    (void)crypto_generichash_init(&state, NULL, 0, sizeof header.checksum);
    (void)crypto_generichash_update(&state, bytes + sizeof header, size - sizeof header);
    (void)crypto_generichash_update(&state, bytes, offsetof(struct shard_header, checksum));
    (void)crypto_generichash_final(&state, header.checksum, sizeof header.checksum);
    memcpy(bytes, &header, sizeof header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = xmalloc(size);
    if (size)
        memcpy(bytes, data, size);
    fuzz_check(bytes, size);
    if (size >= sizeof(struct shard_header)) {
        fuzz_repair(bytes, size);
        fuzz_check(bytes, size);
    }
    free(bytes);
    return 0;
}
