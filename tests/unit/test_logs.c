/* phasectl logs: which lines match, and logs of several files. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "cli/logs/lines.h"
#include "cli/logs/stream.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const time_t now = 1790000000; /* 2026-09-21 14:13:20 UTC, 16:13:20 in the tests' zone */

static int set_zone(void **state)
{
    (void)state;
    int status = setenv("TZ", "CEST-2", 1);
    tzset();
    return status;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static void a_line_begins_with_its_time(void **state)
{
    (void)state;
    static const char line[] = "2026-09-21T14:13:20.250Z step 1";
    assert_int_equal(clock_stamp_size(line, strlen(line)), 25);
    assert_true(clock_stamp_s(line, strlen(line)) == 1790000000.25);
    static const char *const others[] = {"", "step 1", "2026-09-21 14:13:20.250Z step 1",
                                         "2026-09-21T14:13:20.250Z"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(clock_stamp_size(others[i], strlen(others[i])), 0);
        assert_true(isnan(clock_stamp_s(others[i], strlen(others[i]))));
    }
}

static void since_reads_durations_and_times(void **state)
{
    (void)state;
    static const struct {
        const char *text, *since;
    } rows[] = {
        {"10m", "2026-09-21T14:03:20.000Z"},
        {"1h30m", "2026-09-21T12:43:20.000Z"},
        {"16:00", "2026-09-21T14:00:00.000Z"},
        {"16:13:21", "2026-09-20T14:13:21.000Z"}, /* it was yesterday */
        {"2026-09-01", "2026-08-31T22:00:00.000Z"},
        {"2026-09-01 08:30", "2026-09-01T06:30:00.000Z"},
        {"2026-09-01T08:30", "2026-09-01T06:30:00.000Z"},
        {"2026-09-01T08:30:15", "2026-09-01T06:30:15.000Z"},
        {"2026-09-01T08:30:15Z", "2026-09-01T08:30:15.000Z"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lines_filter filter = {0};
        assert_int_equal(lines_since(&filter, rows[i].text, now, NULL), 0);
        assert_string_equal(filter.since, rows[i].since);
    }
    static const char *const wrong[] = {"", "10", "yesterday", "25:00", "2026-13-01", "16:00 x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct lines_filter filter = {0};
        struct error err;
        assert_int_equal(lines_since(&filter, wrong[i], now, &err), -EINVAL);
        assert_non_null(strstr(err.message, "--since wants"));
    }
}

static bool passes(const struct lines_filter *filter, const char *line)
{
    return lines_pass(filter, line, strlen(line));
}

static void lines_pass_by_their_time_and_their_text(void **state)
{
    (void)state;
    struct lines_filter filter = {0};
    assert_true(passes(&filter, "anything"));
    assert_int_equal(lines_since(&filter, "2026-09-21T14:00:00Z", now, NULL), 0);
    assert_true(passes(&filter, "2026-09-21T14:00:00.000Z step 1"));
    assert_false(passes(&filter, "2026-09-21T13:59:59.999Z step 1"));
    assert_true(passes(&filter, "no time"));
    assert_int_equal(lines_grep(&filter, "^step (1|2)$", NULL), 0);
    assert_true(passes(&filter, "2026-09-21T14:00:00.000Z step 2"));
    assert_false(passes(&filter, "2026-09-21T14:00:00.000Z step 3"));
    assert_false(passes(&filter, "2026-09-21T13:00:00.000Z step 2"));
    lines_filter_fini(&filter);
    struct error err;
    assert_int_equal(lines_grep(&filter, "(", &err), -EINVAL);
    assert_non_null(strstr(err.message, "'(' is not a regular expression"));
}

/* --- Files ------------------------------------------------------------------------------------ */

static void put(const char *name, const char *text, const char *mode)
{
    char *path = text_format("%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

/* Rotates as a node does when rank-0.log is full. */
static void rotate(const char *name)
{
    char *from = text_format("%s/rank-0.log", folder), *to = text_format("%s/%s", folder, name);
    assert_int_equal(rename(from, to), 0);
    free(from);
    free(to);
}

/* Returns all that can be read now, in reads of a few bytes. */
static char *read_on(struct stream *stream)
{
    struct text text = {0};
    char buffer[7];
    ssize_t size;
    while ((size = stream_read(stream, buffer, sizeof buffer, NULL)) > 0)
        text_add_bytes(&text, buffer, (size_t)size);
    assert_int_equal(size, 0);
    return text_steal(&text);
}

#define assert_reads(stream, expected)                                                             \
    do {                                                                                           \
        char *got = read_on(stream);                                                               \
        assert_string_equal(got, expected);                                                        \
        free(got);                                                                                 \
    } while (0)

static void the_parts_of_a_log_make_one_stream(void **state)
{
    (void)state;
    struct stream stream;
    put("rank-0.first.log", "one\n", "w");
    put("rank-0.previous.log", "two\n", "w");
    put("rank-0.log", "three\n", "w");
    stream_init(&stream, folder, 0);
    assert_reads(&stream, "one\ntwo\nthree\n");
    assert_true(stream.has_gap);
    put("rank-0.log", "four\n", "a");
    assert_reads(&stream, "four\n");
    stream_fini(&stream);
}

static void a_log_that_is_renamed_meanwhile_loses_nothing(void **state)
{
    (void)state;
    struct stream stream;
    stream_init(&stream, folder, 0);
    assert_reads(&stream, "");
    put("rank-0.log", "one\n", "w");
    assert_reads(&stream, "one\n");
    put("rank-0.log", "two\n", "a");
    rotate("rank-0.first.log");
    put("rank-0.log", "three\n", "w");
    assert_reads(&stream, "two\nthree\n");
    put("rank-0.log", "four\n", "a");
    rotate("rank-0.previous.log");
    assert_reads(&stream, "four\n"); /* the next file does not exist yet */
    put("rank-0.log", "five\n", "w");
    assert_reads(&stream, "five\n");
    rotate("rank-0.previous.log");
    put("rank-0.log", "six\n", "w");
    rotate("rank-0.previous.log"); /* the file that was read is gone */
    put("rank-0.log", "seven\n", "w");
    assert_reads(&stream, "six\nseven\n");
    stream_fini(&stream);
}

static void a_refreshed_stream_goes_on_where_it_was(void **state)
{
    (void)state;
    struct stream stream;
    stream_init(&stream, folder, 0);
    stream_refresh(&stream); /* nothing is open yet */
    put("rank-0.log", "one\n", "w");
    assert_reads(&stream, "one\n");
    put("rank-0.log", "two\n", "a");
    stream_refresh(&stream);
    assert_reads(&stream, "two\n");
    put("rank-0.log", "three\n", "a");
    rotate("rank-0.previous.log");
    put("rank-0.log", "four\n", "w");
    stream_refresh(&stream); /* what was read has another name */
    assert_reads(&stream, "three\nfour\n");
    put("rank-0.log", "five\n", "a");
    rotate("rank-0.previous.log");
    put("rank-0.log", "six\n", "w");
    rotate("rank-0.previous.log");
    stream_refresh(&stream); /* what was read is gone */
    assert_reads(&stream, "five\nsix\n");
    stream_fini(&stream);
}

static void assert_last(const struct lines_filter *filter, unsigned count, const char *expected)
{
    struct stream stream;
    stream_init(&stream, folder, 0);
    assert_int_equal(stream_seek_last(&stream, filter, count, NULL), 0);
    char *got = read_on(&stream);
    assert_string_equal(got, expected);
    free(got);
    stream_fini(&stream);
}

static void the_last_lines_are_found_across_files(void **state)
{
    (void)state;
    struct lines_filter all = {0}, odd = {0};
    put("rank-0.first.log", "line 1\nline 2\n", "w");
    put("rank-0.previous.log", "line 3\n", "w");
    put("rank-0.log", "line 4\nline 5", "w");
    assert_last(&all, 0, "");
    assert_last(&all, 1, "line 5");
    assert_last(&all, 2, "line 4\nline 5");
    assert_last(&all, 4, "line 2\nline 3\nline 4\nline 5");
    assert_last(&all, 9, "line 1\nline 2\nline 3\nline 4\nline 5");
    assert_int_equal(lines_grep(&odd, "[135]", NULL), 0);
    assert_last(&odd, 2, "line 3\nline 4\nline 5"); /* the reader skips line 4 */
    lines_filter_fini(&odd);
}

/* 200,000 lines of 12 bytes, which are more than the first search reads. */
static void the_last_lines_of_a_long_log_are_whole(void **state)
{
    (void)state;
    struct lines_filter all = {0}, rare = {0};
    struct text text = {0}, expected = {0};
    for (unsigned i = 0; i < 200000; i++)
        text_addf(&text, "line %06u\n", i);
    put("rank-0.log", text_string(&text), "w");
    assert_last(&all, 2, "line 199998\nline 199999\n");
    text_add(&expected, text_string(&text) + text.size - 12 * 20000);
    assert_last(&all, 20000, text_string(&expected));
    assert_int_equal(lines_grep(&rare, "line 0000", NULL), 0); /* the first 100 lines */
    assert_last(&rare, 1, text_string(&text) + 12 * 99);
    lines_filter_fini(&rare);
    text_fini(&text);
    text_fini(&expected);
}

static void ranks_are_listed_in_order(void **state)
{
    (void)state;
    long long *ranks;
    static const char *const names[] = {"rank-10.log", "rank-9.log", "rank-9.first.log",
                                        "rank-x.log", "rank-1.logs"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        put(names[i], "", "w");
    assert_int_equal(log_files_ranks(folder, &ranks), 2);
    assert_int_equal(ranks[0], 9);
    assert_int_equal(ranks[1], 10);
    free(ranks);
    assert_int_equal(log_files_ranks("/nonexistent", &ranks), -ENOENT);
    assert_null(ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_begins_with_its_time),
        cmocka_unit_test(since_reads_durations_and_times),
        cmocka_unit_test(lines_pass_by_their_time_and_their_text),
        cmocka_unit_test_setup_teardown(the_parts_of_a_log_make_one_stream, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_log_that_is_renamed_meanwhile_loses_nothing, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_refreshed_stream_goes_on_where_it_was, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(the_last_lines_are_found_across_files, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(the_last_lines_of_a_long_log_are_whole, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(ranks_are_listed_in_order, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, set_zone, NULL);
}
