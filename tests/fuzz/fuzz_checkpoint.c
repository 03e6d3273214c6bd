/* Any bytes as the marker of a checkpoint of phase-model: as they are, with a right digest, and as
 * the marker of one rank whose file is right, too. A checkpoint that is read has a possible shape.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "worker/model/checkpoint.h"
#include "worker/model/model.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "checkpoint";

static void fuzz_check(const uint8_t *bytes, size_t size)
{
    struct model_shape shape;
    struct error err;
    size_t sequence;
    uint8_t digest[32];
    char *path = fuzz_path("step_000001.ckpt");
    fuzz_write("step_000001.ckpt/marker", bytes, size);
    if (checkpoint_shape(path, &shape, &sequence, digest, &err) == 0) {
        assert(sequence > 0 && shape.tied <= 1);
        assert(shape.heads > 0 && shape.width % shape.heads == 0);
        assert(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
    } else {
        assert(err.message[0]);
    }
    free(path);
}

/* Puts the digest of the bytes behind them, as the comment of the format says. */
static void fuzz_digest(uint8_t *bytes, size_t size)
{
    (void)crypto_generichash(bytes + size, CHECKPOINT_DIGEST, bytes, size, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { NUMBERS = 12 }; /* bytes in the file of the rank */
    struct checkpoint_header header;
    uint8_t part[NUMBERS + CHECKPOINT_DIGEST] = {0};
    uint8_t *bytes = xmalloc(size);
    if (size)
        memcpy(bytes, data, size);
    fuzz_digest(part, NUMBERS);
    fuzz_write("step_000001.ckpt/rank_0", part, sizeof part);
    fuzz_check(bytes, size);
    if (size >= sizeof header + 2 * CHECKPOINT_DIGEST) {
        fuzz_digest(bytes, size - CHECKPOINT_DIGEST);
        fuzz_check(bytes, size);
        size = sizeof header + 2 * CHECKPOINT_DIGEST;
        memcpy(&header, bytes, sizeof header);
        header.ranks = 1;
        memcpy(bytes, &header, sizeof header);
        memcpy(bytes + sizeof header, part + NUMBERS, CHECKPOINT_DIGEST);
        fuzz_digest(bytes, size - CHECKPOINT_DIGEST);
        fuzz_check(bytes, size);
    }
    free(bytes);
    return 0;
}
