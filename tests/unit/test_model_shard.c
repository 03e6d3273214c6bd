/* Shards: ids of both widths come back, and a file that is short, altered or wrong is refused. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/model/random.h"
#include "worker/model/shard.h"
#include "worker/model/vocabulary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 10000, HEADER = sizeof(struct shard_header) };

static char *path;

static int reset(void **state)
{
    int result = folder_make(state);
    path = text_format("%s/shard", folder);
    return result;
}

static int clear(void **state)
{
    free(path);
    return folder_remove(state);
}

/* A shard of ids below `below`, which says that the vocabulary has `tokens` tokens. */
static void write_shard(uint32_t tokens, uint32_t below)
{
    static uint32_t ids[COUNT];
    const struct vocabulary vocabulary = {.tokens = tokens, .digest = {1, 2, 3}};
    struct shard_writer writer;
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = (uint32_t)(random_at(1, i) % below);
    ids[7] = below - 1;
    assert_int_equal(shard_begin(&writer, path, &vocabulary, NULL), 0);
    assert_int_equal(shard_add(&writer, ids, 10, NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(shard_add(&writer, ids + 10, COUNT - 10, NULL), 0);
    assert_int_equal(shard_end(&writer, 0, NULL), 0);
}

static void ids_of_two_and_of_four_bytes_come_back(void **state)
{
    (void)state;
    for (uint32_t tokens = 65536; tokens <= 65537; tokens++) {
        struct file_map map;
        struct shard_header header;
        write_shard(tokens, tokens);
        assert_int_equal(file_map(path, &map, NULL), 0);
        assert_true(shard_is_one(&map));
        assert_int_equal(shard_check(&map, path, &header, NULL), 0);
        assert_int_equal(header.width, tokens == 65536 ? 2 : 4);
        assert_int_equal(header.count, COUNT);
        assert_int_equal(header.tokens, tokens);
        assert_int_equal(header.vocabulary[2], 3);
        const uint16_t *narrow = (const void *)((const char *)map.data + HEADER);
        const uint32_t *wide = (const void *)narrow;
        for (size_t i = 0; i < COUNT; i++) {
            uint32_t wanted = i == 7 ? tokens - 1 : (uint32_t)(random_at(1, i) % tokens);
            assert_int_equal(header.width == 2 ? narrow[i] : wide[i], wanted);
        }
        file_unmap(&map);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_shard_that_failed_leaves_no_file(void **state)
{
    (void)state;
    const struct vocabulary vocabulary = {.tokens = 300};
    struct shard_writer writer;
    assert_int_equal(shard_begin(&writer, path, &vocabulary, NULL), 0);
    assert_int_equal(shard_end(&writer, -ENOSPC, NULL), -ENOSPC);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(shard_begin(&writer, "/nowhere/shard", &vocabulary, NULL), -ENOENT);
}

static void assert_refused(const char *data, size_t size, const char *reason)
{
    struct file_map map;
    struct shard_header header;
    struct error err;
    assert_int_equal(file_replace(path, data, size, 0600, NULL), 0);
    assert_int_equal(file_map(path, &map, NULL), 0);
    assert_int_equal(shard_check(&map, path, &header, &err), -EINVAL);
    if (!strstr(err.message, reason) || !strstr(err.message, path))
        fail_msg("'%s' does not say '%s'", err.message, reason);
    file_unmap(&map);
}

static void a_short_or_altered_shard_is_refused(void **state)
{
    (void)state;
    char *data;
    size_t size;
    write_shard(300, 300);
    assert_int_equal(file_read(path, (size_t)1 << 20, &data, &size, NULL), 0);
    assert_refused(data, 0, "not a shard");
    assert_refused(data, HEADER - 1, "it ends within its header");
    assert_refused(data, HEADER, "0 bytes for 10000 ids of 2 bytes");
    assert_refused(data, size - 1, "19999 bytes for 10000 ids of 2 bytes");
    assert_refused(data, size - 2, "19998 bytes for 10000 ids of 2 bytes");
    static const struct {
        size_t offset;
        const char *reason;
    } rows[] = {
        {0, "not a shard"},
        {8, "version 0"},
        {12, "ids of 3 bytes for 300 tokens"},
        {16, "20000 bytes for 10001 ids"},
        {25, "ids of 2 bytes for 44 tokens"},
        {27, "ids of 2 bytes for 16777516 tokens"},
        {24, "its checksum is wrong"}, /* 301 tokens */
        {32, "its checksum is wrong"},
        {64, "its checksum is wrong"},
        {HEADER, "its checksum is wrong"},
        {HEADER + 2 * COUNT - 1, "its checksum is wrong"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        data[rows[i].offset] ^= 1;
        assert_refused(data, size, rows[i].reason);
        data[rows[i].offset] ^= 1;
    }
    free(data);
}

static void an_id_outside_of_the_vocabulary_is_refused(void **state)
{
    (void)state;
    char *data;
    size_t size;
    write_shard(300, 301);
    assert_int_equal(file_read(path, (size_t)1 << 20, &data, &size, NULL), 0);
    assert_refused(data, size, "the id 300 of a vocabulary of 300 tokens");
    free(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ids_of_two_and_of_four_bytes_come_back),
        TEST(a_shard_that_failed_leaves_no_file),
        TEST(a_short_or_altered_shard_is_refused),
        TEST(an_id_outside_of_the_vocabulary_is_refused),
    };
    return cmocka_run_group_tests_name("shard", tests, NULL, NULL);
}
