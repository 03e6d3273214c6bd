/* Any bytes as a checkpoint of phase-model: as they are, with a right checksum, and as a header
 * whose parameters are right, too. A file that is read has a possible shape. */
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
    fuzz_write("step_000001.ckpt", bytes, size);
    if (checkpoint_shape(path, &shape, &sequence, digest, &err) == 0) {
        assert(sequence > 0 && shape.tied <= 1);
        assert(shape.heads > 0 && shape.width % shape.heads == 0);
        assert(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
    } else {
        assert(err.message[0]);
    }
    free(path);
}

/* Sets the checksum as the comment of the format says. */
static void fuzz_repair(uint8_t *bytes, size_t size)
{
    size_t summed = size - CHECKPOINT_CHECKSUM;
    (void)crypto_generichash(bytes + summed, CHECKPOINT_CHECKSUM, bytes, summed, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct checkpoint_header header;
    uint8_t *bytes = xmalloc(size);
    if (size)
        memcpy(bytes, data, size);
    fuzz_check(bytes, size);
    if (size >= sizeof header + CHECKPOINT_CHECKSUM) {
        fuzz_repair(bytes, size);
        fuzz_check(bytes, size);
        memcpy(&header, bytes, sizeof header);
        header.parameters = (size - sizeof header - CHECKPOINT_CHECKSUM) / (3 * sizeof(float));
        memcpy(bytes, &header, sizeof header);
        fuzz_repair(bytes, size);
        fuzz_check(bytes, size);
    }
    free(bytes);
    return 0;
}
