/* The event files of TensorBoard, byte by byte. */
#include "tests/unit/unit.h"

#include "cli/metrics/tfevents.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "tests/unit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_checksum_has_the_known_values(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], ascending[32];
    memset(ones, 0xFF, sizeof ones);
    for (uint8_t i = 0; i < sizeof ascending; i++)
        ascending[i] = i;
    assert_int_equal(tfevents_crc32c("", 0), 0);
    assert_int_equal(tfevents_crc32c("123456789", 9), 0xE3069283);
    /* RFC 3720, B.4 */
    assert_int_equal(tfevents_crc32c(zeros, sizeof zeros), 0x8A9136AA);
    assert_int_equal(tfevents_crc32c(ones, sizeof ones), 0x62A8AB43);
    assert_int_equal(tfevents_crc32c(ascending, sizeof ascending), 0x46DD794E);
}

static void a_record_is_framed_by_checksums(void **state)
{
    (void)state;
    /* The event files that TensorFlow writes begin with these 12 bytes: their first record has 24
     * bytes. */
    static const uint8_t head[] = {0x18, 0, 0, 0, 0, 0, 0, 0, 0xA3, 0x7F, 0x4B, 0x22};
    struct text file = {0};
    tfevents_add_record(&file, "123456789012345678901234", 24);
    assert_int_equal(file.size, sizeof head + 24 + 4);
    assert_memory_equal(file.data, head, sizeof head);
    assert_memory_equal(file.data + sizeof head, "123456789012345678901234", 24);
    text_clear(&file);
    /* 0xE3069283 rotated right by 15 bits, plus 0xA282EAD8 */
    tfevents_add_record(&file, "123456789", 9);
    assert_memory_equal(file.data + 12 + 9, "\xE5\xB0\x8A\xC7", 4);
    text_fini(&file);
}

/* The data of the record at `at`, without its frame. */
static void assert_event(const struct text *file, size_t *at, const void *expected, size_t size)
{
    assert_in_range(*at + size + 16, 0, file->size);
    assert_int_equal((uint8_t)file->data[*at], size);
    assert_memory_equal(file->data + *at + 12, expected, size);
    *at += size + 16;
}

static void a_file_begins_with_its_version_and_a_session(void **state)
{
    (void)state;
    static const char version[] = "\x09\0\0\0\0\0\0\xF8\x3F" /* wall_time = 1.5 */
                                  "\x10\0"                   /* step = 0 */
                                  "\x1A\x0D"                 /* file_version */
                                  "brain.Event:2";
    static const char session[] = "\x09\0\0\0\0\0\0\xF8\x3F\x10\0"
                                  "\x3A\x02"  /* session_log */
                                  "\x08\x01"; /* status = START */
    struct text file = {0};
    size_t at = 0;
    tfevents_add_beginning(&file, 1.5);
    assert_event(&file, &at, version, sizeof version - 1);
    assert_event(&file, &at, session, sizeof session - 1);
    assert_int_equal(at, file.size);
    text_fini(&file);
}

static json_t *columns(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void a_step_is_an_event_with_its_new_values(void **state)
{
    (void)state;
    static const char first[] = "\x09\0\0\0\0\0\0\xF8\x3F" /* wall_time = 1.5 */
                                "\x10\xAC\x02"             /* step = 300 */
                                "\x2A\x0D"                 /* summary */
                                "\x0A\x0B"                 /* its value */
                                "\x0A\x04"                 /* tag */
                                "loss"
                                "\x15\0\0\x20\x40";         /* simple_value = 2.5 */
    static const char second[] = "\x09\0\0\0\0\0\0\x04\x40" /* 2.5 */
                                 "\x10\xAD\x02"             /* 301 */
                                 "\x2A\x18"
                                 "\x0A\x0B\x0A\x04loss\x15\0\0\xC0\x7F" /* NaN */
                                 "\x0A\x09\x0A\x02lr\x15\0\0\x80\xFF";  /* -infinity */
    static const char late[] = "\x09\0\0\0\0\0\0\x04\x40\x10\xAD\x02\x2A\x0B"
                               "\x0A\x09\x0A\x02mb\x15\0\0\x80\x7F"; /* 1e300 is not a float */
    json_t *last = json_object();
    json_t *two = columns("{\"steps\": [300, 301], \"times\": [1.5, 2.5],"
                          " \"series\": {\"loss\": [2.5, \"nan\"], \"lr\": [null, \"-inf\"]}}");
    json_t *more = columns("{\"steps\": [301], \"times\": [2.5],"
                           " \"series\": {\"loss\": [\"nan\"], \"mb\": [1e300]}}");
    struct text file = {0};
    size_t at = 0;
    tfevents_add_rows(&file, two, last);
    assert_event(&file, &at, first, sizeof first - 1);
    assert_event(&file, &at, second, sizeof second - 1);
    tfevents_add_rows(&file, more, last);
    assert_event(&file, &at, late, sizeof late - 1);
    tfevents_add_rows(&file, more, last); /* nothing is new */
    assert_int_equal(at, file.size);
    text_fini(&file);
    json_decref(two);
    json_decref(more);
    json_decref(last);
}

static void assert_file(const char *path, const char *expected)
{
    char *data;
    assert_int_equal(file_read(path, 100, &data, NULL, NULL), 0);
    assert_string_equal(data, expected);
    free(data);
}

static void a_new_file_replaces_the_files_before(void **state)
{
    (void)state;
    struct text file = {0};
    struct error err;
    char *inner = text_format("%s/trm-7/validate", folder), *first, *second, *third;
    text_add(&file, "a");
    assert_int_equal(tfevents_replace(inner, &file, &first, &err), 0);
    char *other = text_format("%s/events.out.tfevents.1.host", inner);
    assert_int_equal(tfevents_append(first, &file, &err), 0);
    assert_int_equal(file_replace(other, "of a trainer", 12, 0666, &err), 0);
    assert_int_equal(tfevents_replace(inner, &file, &second, &err), 0);
    assert_true(strcmp(first, second) < 0); /* TensorBoard reads in this order */
    assert_int_equal(tfevents_append(first, &file, &err), -ENOENT);
    text_clear(&file);
    text_add(&file, "bc");
    assert_int_equal(tfevents_append(second, &file, &err), 0);
    assert_file(second, "abc");
    assert_file(first, ""); /* a TensorBoard that reads there goes on to the second file */
    const struct timespec long_ago[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, first, long_ago, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, second, long_ago, 0), 0);
    assert_int_equal(tfevents_replace(inner, &file, &third, &err), 0);
    assert_int_equal(access(first, F_OK), -1);
    assert_file(second, "");
    assert_file(third, "bc");
    assert_file(other, "of a trainer");
    text_fini(&file);
    free(inner);
    free(other);
    free(first);
    free(second);
    free(third);
}

static void a_new_file_comes_last_after_the_clock_was_set_back(void **state)
{
    (void)state;
    struct text file = {0};
    struct error err;
    char *path;
    folder_put("old", "events.out.tfevents.9000000000.999999.phasectl");
    folder_put("old", "events.out.tfevents.0000000001.000000.phasectl");
    folder_put("of a trainer", "events.out.tfevents.9999999999.host");
    text_add(&file, "new");
    assert_int_equal(tfevents_replace(folder, &file, &path, &err), 0);
    assert_string_equal(strrchr(path, '/'), "/events.out.tfevents.9000000001.000000.phasectl");
    assert_file(path, "new");
    text_fini(&file);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_has_the_known_values),
        cmocka_unit_test(a_record_is_framed_by_checksums),
        cmocka_unit_test(a_file_begins_with_its_version_and_a_session),
        cmocka_unit_test(a_step_is_an_event_with_its_new_values),
        cmocka_unit_test_setup_teardown(a_new_file_replaces_the_files_before, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_new_file_comes_last_after_the_clock_was_set_back,
                                        folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
