/* Rows of text: bytes of a file and tokens of a shard give the same rows, each row is a function of
 * the seed and its number, rows are read ahead, and a shard that is damaged or too short is
 * refused. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/model/data.h"
#include "worker/model/prose.h"
#include "worker/model/random.h"
#include "worker/model/shard.h"
#include "worker/model/vocabulary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1000, TRAINED = 900, SEQUENCE = 16, ROWS = 200, IDS = ROWS * SEQUENCE };

static uint8_t text[SIZE];
static char *text_path, *shard_path;

struct rows {
    uint32_t ids[IDS], targets[IDS];
};

/* A shard whose ids are the bytes of the text times `factor`. */
static void write_shard(uint32_t tokens, uint32_t factor)
{
    struct vocabulary vocabulary = {.tokens = tokens, .digest = {7}};
    struct shard_writer writer;
    uint32_t ids[SIZE];
    for (size_t i = 0; i < SIZE; i++)
        ids[i] = text[i] * factor;
    assert_int_equal(shard_begin(&writer, shard_path, &vocabulary, NULL), 0);
    assert_int_equal(shard_end(&writer, shard_add(&writer, ids, SIZE, NULL), NULL), 0);
}

static int reset(void **state)
{
    int result = folder_make(state);
    text_path = text_format("%s/text", folder);
    shard_path = text_format("%s/shard", folder);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (uint8_t)random_at(5, i);
    assert_int_equal(file_replace(text_path, text, SIZE, 0600, NULL), 0);
    return result;
}

static int clear(void **state)
{
    free(text_path);
    free(shard_path);
    return folder_remove(state);
}

static void open_data(struct data *data, const char *path, uint64_t seed)
{
    struct error err;
    if (data_init(data, path, SEQUENCE, seed, &err) < 0)
        fail_msg("%s", err.message);
}

static void rows_are_pieces_of_the_text_and_targets_are_one_place_later(void **state)
{
    (void)state;
    static struct rows rows;
    struct data data;
    size_t last = 0;
    open_data(&data, text_path, 1);
    assert_int_equal(data.tokens, 256);
    data_rows(&data, 0, ROWS, rows.ids, rows.targets);
    for (size_t row = 0; row < ROWS; row++) {
        size_t place = random_at(1, row) % (TRAINED - SEQUENCE);
        last = place > last ? place : last;
        for (size_t i = 0; i < SEQUENCE; i++) {
            assert_int_equal(rows.ids[row * SEQUENCE + i], text[place + i]);
            assert_int_equal(rows.targets[row * SEQUENCE + i], text[place + i + 1]);
        }
    }
    assert_true(last > TRAINED - 3 * SEQUENCE);
    data_held_out(&data, ROWS, 0, ROWS, rows.ids, rows.targets);
    assert_int_equal(rows.ids[0], text[TRAINED]);
    assert_int_equal(rows.targets[IDS - 1], text[SIZE - 1]);
    data_fini(&data);
}

static void a_shard_gives_the_same_rows_as_its_text(void **state)
{
    (void)state;
    static struct rows wanted, got;
    static const struct {
        uint32_t tokens, factor, width;
    } table[] = {{256, 1, 2}, {65536, 257, 2}, {65537, 257, 4}};
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        struct data bytes, shard;
        write_shard(table[t].tokens, table[t].factor);
        open_data(&bytes, text_path, 3);
        open_data(&shard, shard_path, 3);
        assert_int_equal(shard.tokens, table[t].tokens);
        assert_int_equal(shard.width, table[t].width);
        assert_int_equal(shard.vocabulary[0], 7);
        assert_memory_not_equal(bytes.vocabulary, shard.vocabulary, DATA_FINGERPRINT);
        assert_memory_not_equal(bytes.fingerprint, shard.fingerprint, DATA_FINGERPRINT);
        data_rows(&bytes, 10, ROWS, wanted.ids, wanted.targets);
        data_rows(&shard, 10, ROWS, got.ids, got.targets);
        for (size_t i = 0; i < IDS; i++) {
            assert_int_equal(wanted.ids[i] * table[t].factor, got.ids[i]);
            assert_int_equal(wanted.targets[i] * table[t].factor, got.targets[i]);
        }
        data_fini(&bytes);
        data_fini(&shard);
    }
}

static void reading_continues_at_the_same_row_and_another_seed_gives_other_rows(void **state)
{
    (void)state;
    static struct rows whole, parts, other;
    struct data data;
    write_shard(256, 1);
    open_data(&data, shard_path, 1);
    data_rows(&data, 0, ROWS, whole.ids, whole.targets);
    data_fini(&data);
    open_data(&data, shard_path, 1);
    data_rows(&data, 50, ROWS - 50, parts.ids, parts.targets);
    assert_memory_equal(parts.ids, whole.ids + (size_t)50 * SEQUENCE,
                        (size_t)(ROWS - 50) * SEQUENCE * sizeof *parts.ids);
    data_fini(&data);
    open_data(&data, shard_path, 2);
    data_rows(&data, 0, ROWS, other.ids, other.targets);
    assert_memory_not_equal(other.ids, whole.ids, sizeof whole.ids);
    data_fini(&data);
}

static void assert_refused(const char *path, const void *bytes, size_t size, const char *reason)
{
    struct data data;
    struct error err;
    assert_int_equal(file_replace(path, bytes, size, 0600, NULL), 0);
    assert_int_equal(data_init(&data, path, SEQUENCE, 1, &err), -EINVAL);
    if (!strstr(err.message, reason) || !strstr(err.message, path))
        fail_msg("'%s' does not say '%s'", err.message, reason);
}

static void a_text_that_is_too_short_or_damaged_is_refused(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    assert_refused(text_path, text, 0, "0 bytes, rows of 16 need at least 34");
    assert_refused(text_path, text, 33, "33 bytes, rows of 16 need at least 34");
    write_shard(300, 1);
    assert_int_equal(file_read(shard_path, 10000, &bytes, &size, NULL), 0);
    assert_refused(shard_path, bytes, size - 1, "1999 bytes for 1000 ids");
    assert_refused(shard_path, bytes, 8, "it ends within its header");
    bytes[size - 1] ^= 1;
    assert_refused(shard_path, bytes, size, "its checksum is wrong");
    free(bytes);
    struct vocabulary vocabulary = {.tokens = 300};
    struct shard_writer writer;
    struct data data;
    struct error err;
    assert_int_equal(shard_begin(&writer, shard_path, &vocabulary, NULL), 0);
    assert_int_equal(shard_end(&writer, shard_add(&writer, (uint32_t[33]){0}, 33, NULL), NULL), 0);
    assert_int_equal(data_init(&data, shard_path, SEQUENCE, 1, &err), -EINVAL);
    assert_non_null(strstr(err.message, "33 tokens, rows of 16 need at least 34"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, clear)

enum { LONG = 1 << 20, EXPECTED = 8, PAGES_MAX = 4096, DEADLINE_MS = 10000 };

/* Returns how many pages of the map are in memory, and marks them. */
static size_t present(const struct data *data, size_t page, unsigned char marks[PAGES_MAX])
{
    size_t count = 0, pages = (data->map.size + page - 1) / page;
    assert_true(pages <= PAGES_MAX);
    assert_int_equal(mincore(data->map.data, data->map.size, marks), 0);
    for (size_t i = 0; i < pages; i++)
        count += marks[i] & 1;
    return count;
}

static void expected_rows_come_into_memory_and_other_rows_do_not(void **state)
{
    (void)state;
    static unsigned char marks[PAGES_MAX];
    struct data data;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *bytes = xcalloc(LONG, 1);
    int64_t deadline_ms = clock_steady_ms() + DEADLINE_MS;
    assert_int_equal(file_replace(text_path, bytes, LONG, 0600, NULL), 0); /* with fsync */
    free(bytes);
    open_data(&data, text_path, 1);
    int fd = open(text_path, O_RDONLY);
    do {
        if (clock_steady_ms() > deadline_ms)
            skip(); /* a file system in memory keeps its pages */
        (void)madvise(data.map.data, data.map.size, MADV_DONTNEED); /* the loop checks both */
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    } while (present(&data, page, marks) > 0);
    (void)close(fd); /* it was only read */
    data_expect(&data, 3, EXPECTED);
    for (size_t row = 3; row < 3 + EXPECTED; row++) {
        size_t place = random_at(1, row) % (data.trained - SEQUENCE);
        do
            assert_true(clock_steady_ms() < deadline_ms + 180000);
        while (present(&data, page, marks) == 0 || !(marks[place / page] & 1) ||
               !(marks[(place + SEQUENCE) / page] & 1));
    }
    assert_true(present(&data, page, marks) < LONG / page / 2);
    data_fini(&data);
}

static void without_a_file_the_text_is_the_same_on_every_machine(void **state)
{
    (void)state;
    static struct rows rows;
    struct data data;
    struct text all = {0}, part = {0};
    prose_add(&all, PROSE_BYTES);
    prose_add(&part, 500);
    assert_int_equal(all.size, PROSE_BYTES);
    assert_int_equal(part.size, 500);
    assert_memory_equal(all.data, part.data, 499);
    assert_int_equal(part.data[499], '\n');
    assert_true(text_starts(all.data, "The doctor passes the train after the lonely kitchen"));
    open_data(&data, "", 1);
    assert_int_equal(data.size, PROSE_BYTES);
    data_expect(&data, 0, ROWS);
    data_rows(&data, 0, ROWS, rows.ids, rows.targets);
    for (size_t row = 0; row < ROWS; row++) {
        size_t place = random_at(1, row) % (data.trained - SEQUENCE);
        for (size_t i = 0; i < SEQUENCE; i++) {
            assert_int_equal(rows.ids[row * SEQUENCE + i], (uint8_t)all.data[place + i]);
            assert_int_equal(rows.targets[row * SEQUENCE + i], (uint8_t)all.data[place + i + 1]);
        }
    }
    data_fini(&data);
    text_fini(&all);
    text_fini(&part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_pieces_of_the_text_and_targets_are_one_place_later),
        TEST(a_shard_gives_the_same_rows_as_its_text),
        TEST(reading_continues_at_the_same_row_and_another_seed_gives_other_rows),
        TEST(a_text_that_is_too_short_or_damaged_is_refused),
        TEST(expected_rows_come_into_memory_and_other_rows_do_not),
        TEST(without_a_file_the_text_is_the_same_on_every_machine),
    };
    return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}
