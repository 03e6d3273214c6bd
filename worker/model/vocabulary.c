/* The vocabulary: its file, and its tables for encoding and decoding. */
#include "worker/model/vocabulary.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is the memory's");
_Static_assert(sizeof(struct vocabulary_header) == 48, "the header has no holes");

static const char magic[8] = {'p', 'h', 'v', 'o', 'c', 'a', 'b', '\n'};

static size_t merges_size(uint32_t tokens)
{
    return (tokens - VOCABULARY_BYTES) * sizeof(struct vocabulary_merge);
}

static struct vocabulary_header make_header(const struct vocabulary_merge *merges, uint32_t tokens)
{
    struct vocabulary_header header = {.version = VOCABULARY_VERSION, .tokens = tokens};
    memcpy(header.magic, magic, sizeof magic);
    crypto_generichash_state state;
    /* These calls cannot fail for fixed sizes. */
    (void)crypto_generichash_init(&state, NULL, 0, sizeof header.digest);
    (void)crypto_generichash_update(&state, (const uint8_t *)&header,
                                    offsetof(struct vocabulary_header, digest));
    (void)crypto_generichash_update(&state, (const uint8_t *)merges, merges_size(tokens));
    (void)crypto_generichash_final(&state, header.digest, sizeof header.digest);
    return header;
}

/* Writes down the bytes of each token. */
static int spell(struct vocabulary *vocabulary, struct error *err)
{
    struct text bytes = {0};
    uint32_t *offsets = xcalloc((size_t)vocabulary->tokens + 1, sizeof *offsets);
    vocabulary->offsets = offsets;
    int status = 0;
    for (uint32_t token = 0; token < vocabulary->tokens && status == 0; token++) {
        if (token < VOCABULARY_BYTES) {
            text_add_bytes(&bytes, &(uint8_t){(uint8_t)token}, 1);
        } else {
            const struct vocabulary_merge merge = vocabulary->merges[token - VOCABULARY_BYTES];
            const uint32_t parts[] = {merge.left, merge.right};
            for (size_t i = 0; i < 2 && status == 0; i++) {
                char part[VOCABULARY_TOKEN_SIZE_MAX];
                if (parts[i] >= token) {
                    status =
                        error_set(err, -EINVAL, "its token %u is made of a later token", token);
                    break;
                }
                size_t size = offsets[parts[i] + 1] - offsets[parts[i]];
                memcpy(part, bytes.data + offsets[parts[i]], size);
                text_add_bytes(&bytes, part, size); /* `bytes` may move, so a copy is added */
            }
        }
        if (bytes.size - offsets[token] > VOCABULARY_TOKEN_SIZE_MAX)
            status = error_set(err, -EINVAL, "its token %u is longer than %d bytes", token,
                               VOCABULARY_TOKEN_SIZE_MAX);
        offsets[token + 1] = (uint32_t)bytes.size; /* tokens and their size are limited */
    }
    vocabulary->bytes = (uint8_t *)text_steal(&bytes);
    return status;
}

static int compare_merges(const void *a, const void *b, void *context)
{
    const struct vocabulary_merge *merges = context;
    const struct vocabulary_merge *left = &merges[*(const uint32_t *)a - VOCABULARY_BYTES];
    const struct vocabulary_merge *right = &merges[*(const uint32_t *)b - VOCABULARY_BYTES];
    if (left->left != right->left)
        return left->left < right->left ? -1 : 1;
    return (left->right > right->right) - (left->right < right->right);
}

/* Sorts the merges for vocabulary_merged(). */
static int sort(struct vocabulary *vocabulary, struct error *err)
{
    uint32_t count = vocabulary->tokens - VOCABULARY_BYTES;
    uint32_t *sorted = vocabulary->sorted = xcalloc(count, sizeof *sorted);
    uint32_t *first = vocabulary->first = xcalloc((size_t)vocabulary->tokens + 1, sizeof *first);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = VOCABULARY_BYTES + i;
        first[vocabulary->merges[i].left + 1]++;
    }
    for (uint32_t i = 0; i < vocabulary->tokens; i++)
        first[i + 1] += first[i];
    qsort_r(sorted, count, sizeof *sorted, compare_merges, vocabulary->merges);
    for (uint32_t i = 1; i < count; i++)
        if (compare_merges(&sorted[i - 1], &sorted[i], vocabulary->merges) == 0)
            return error_set(err, -EINVAL, "its tokens %u and %u are the same pair",
                             sorted[i - 1] < sorted[i] ? sorted[i - 1] : sorted[i],
                             sorted[i - 1] < sorted[i] ? sorted[i] : sorted[i - 1]);
    return 0;
}

int vocabulary_init(struct vocabulary *vocabulary, struct vocabulary_merge *take_merges,
                    uint32_t tokens, struct error *err)
{
    *vocabulary = (struct vocabulary){.tokens = tokens, .merges = take_merges};
    int status = spell(vocabulary, err);
    if (status == 0)
        status = sort(vocabulary, err);
    if (status < 0) {
        vocabulary_fini(vocabulary);
        return status;
    }
    const struct vocabulary_header header = make_header(take_merges, tokens);
    memcpy(vocabulary->digest, header.digest, sizeof vocabulary->digest);
    return 0;
}

void vocabulary_init_bytes(struct vocabulary *vocabulary)
{
    (void)vocabulary_init(vocabulary, NULL, VOCABULARY_BYTES, NULL); /* no merge can be wrong */
}

void vocabulary_fini(struct vocabulary *vocabulary)
{
    free(vocabulary->merges);
    free(vocabulary->bytes);
    free(vocabulary->offsets);
    free(vocabulary->sorted);
    free(vocabulary->first);
    *vocabulary = (struct vocabulary){0};
}

/* Takes a copy of the merges out of the bytes of a file. */
static int read_merges(const struct file_map *map, struct vocabulary_merge **ret_merges,
                       uint32_t *ret_tokens, struct error *err)
{
    struct vocabulary_header header;
    if (map->size < sizeof header || memcmp(map->data, magic, sizeof magic) != 0)
        return error_set(err, -EINVAL, "not a vocabulary");
    memcpy(&header, map->data, sizeof header);
    if (header.version != VOCABULARY_VERSION)
        return error_set(err, -EINVAL, "version %u, this program reads %d", header.version,
                         VOCABULARY_VERSION);
    if (header.tokens < VOCABULARY_BYTES || header.tokens > VOCABULARY_TOKENS_MAX)
        return error_set(err, -EINVAL, "it has %u tokens, not %d to %d", header.tokens,
                         VOCABULARY_BYTES, VOCABULARY_TOKENS_MAX);
    size_t size = merges_size(header.tokens);
    if (map->size != sizeof header + size)
        return error_set(err, -EINVAL, "%zu bytes instead of %zu", map->size, sizeof header + size);
    struct vocabulary_merge *merges = xmalloc(size);
    memcpy(merges, (const char *)map->data + sizeof header, size);
    const struct vocabulary_header wanted = make_header(merges, header.tokens);
    if (memcmp(wanted.digest, header.digest, sizeof wanted.digest) != 0) {
        free(merges);
        return error_set(err, -EINVAL, "its digest is wrong");
    }
    *ret_merges = merges;
    *ret_tokens = header.tokens;
    return 0;
}

int vocabulary_load(struct vocabulary *vocabulary, const char *path, struct error *err)
{
    struct file_map map;
    struct vocabulary_merge *merges = NULL;
    struct error reason;
    uint32_t tokens = 0;
    int status = file_map(path, &map, err);
    if (status < 0)
        return status;
    status = read_merges(&map, &merges, &tokens, &reason);
    if (status == 0)
        status = vocabulary_init(vocabulary, merges, tokens, &reason);
    if (status < 0)
        status = error_set(err, status, "cannot read %s: %s", path, reason.message);
    file_unmap(&map);
    return status;
}

int vocabulary_save(const struct vocabulary *vocabulary, const char *path, struct error *err)
{
    const struct vocabulary_header header = make_header(vocabulary->merges, vocabulary->tokens);
    struct file_change change;
    int status = file_change_begin(&change, path, 0666, err);
    if (status < 0)
        return status;
    status = file_change_write(&change, &header, sizeof header, err);
    if (status == 0)
        status =
            file_change_write(&change, vocabulary->merges, merges_size(vocabulary->tokens), err);
    return file_change_end(&change, status, err);
}

const uint8_t *vocabulary_token(const struct vocabulary *vocabulary, uint32_t token,
                                size_t *ret_size)
{
    *ret_size = vocabulary->offsets[token + 1] - vocabulary->offsets[token];
    return vocabulary->bytes + vocabulary->offsets[token];
}

uint32_t vocabulary_merged(const struct vocabulary *vocabulary, uint32_t left, uint32_t right)
{
    uint32_t low = vocabulary->first[left], high = vocabulary->first[left + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, token = vocabulary->sorted[middle];
        uint32_t found = vocabulary->merges[token - VOCABULARY_BYTES].right;
        if (found == right)
            return token;
        if (found < right)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}
