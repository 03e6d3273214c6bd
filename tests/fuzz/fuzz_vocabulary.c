/* Any bytes as a vocabulary: as a file, and as merges with a right digest. What can be read encodes
 * the same bytes without a loss. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "worker/model/tokenizer.h"
#include "worker/model/vocabulary.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char fuzz_corpus[] = "vocabulary";

static void fuzz_round_trip(const struct vocabulary *vocabulary, const uint8_t *data, size_t size)
{
    struct tokenizer tokenizer;
    tokenizer_init(&tokenizer, vocabulary);
    for (size_t at = 0; at < size;) {
        uint32_t tokens[VOCABULARY_TOKEN_SIZE_MAX];
        size_t count;
        size_t end = at + tokenizer_next(&tokenizer, data + at, size - at, tokens, &count);
        for (size_t i = 0; i < count; i++) {
            size_t token_size;
            assert(tokens[i] < vocabulary->tokens);
            const uint8_t *token = vocabulary_token(vocabulary, tokens[i], &token_size);
            assert(token_size <= end - at && memcmp(data + at, token, token_size) == 0);
            at += token_size;
        }
        assert(at == end);
    }
    tokenizer_fini(&tokenizer);
}

/* The file has no name and lies in memory. */
static int fuzz_load(struct vocabulary *vocabulary, const uint8_t *data, size_t size,
                     struct error *err)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        fd = memfd_create("vocabulary", MFD_CLOEXEC);
        assert(fd >= 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    assert(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    return vocabulary_load(vocabulary, path, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vocabulary vocabulary;
    struct error err;
    if (fuzz_load(&vocabulary, data, size, &err) == 0) {
        fuzz_round_trip(&vocabulary, data, size);
        vocabulary_fini(&vocabulary);
    } else {
        assert(err.message[0]);
    }
    size_t skipped = size < sizeof(struct vocabulary_header) ? 0 : sizeof(struct vocabulary_header);
    size_t count = (size - skipped) / sizeof(struct vocabulary_merge);
    struct vocabulary_merge *merges = xcalloc(count, sizeof *merges);
    if (count)
        memcpy(merges, data + skipped, count * sizeof *merges);
    if (count > VOCABULARY_TOKENS_MAX - VOCABULARY_BYTES) {
        free(merges);
    } else if (vocabulary_init(&vocabulary, merges, VOCABULARY_BYTES + (uint32_t)count, &err) ==
               0) {
        fuzz_round_trip(&vocabulary, data, size);
        vocabulary_fini(&vocabulary);
    }
    return 0;
}
