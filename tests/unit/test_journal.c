/* The journal of a run: numbers without gaps, whatever happens to the file. */
#include "tests/unit/unit.h"

#include "lib/file.h"
#include "lib/protocol/journal_file.h"
#include "lib/text.h"
#include "worker/protocol/journal.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[32];
static char *path;

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder, "/tmp/phased-test-XXXXXX", sizeof("/tmp/phased-test-XXXXXX"));
    assert_non_null(mkdtemp(folder));
    path = text_format("%s/n1.jsonl", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    rmdir(folder);
    free(path);
    return 0;
}

static void last_found(void *context, const struct entry *entry)
{
    *(uint64_t *)context = (uint64_t)entry->seq;
}

/* Returns the number of the last whole entry in the file. */
static uint64_t last_in(const char *file)
{
    uint64_t last = 0;
    journal_visit(file, -1, last_found, &last);
    return last;
}

static void add(struct journal *journal, int step)
{
    journal_add(journal,
                &(struct entry){.type = ENTRY_METRIC, .json = json_pack("{s:i}", "step", step)});
}

/* Returns the steps of the entries after a number: "1 2 3"; w for a warning. */
static char *steps_after(struct journal *journal, uint64_t after, size_t size_max,
                         uint64_t *ret_last)
{
    struct text entries = {0}, steps = {0};
    *ret_last = journal_read(journal, after, size_max, &entries);
    char *whole = text_format("[%s]", text_string(&entries));
    json_t *list = json_loads(whole, 0, NULL), *entry;
    size_t i;
    assert_non_null(list);
    json_array_foreach(list, i, entry)
    {
        assert_int_equal(json_integer_value(json_object_get(entry, "seq")), after + i + 1);
        json_t *step = json_object_get(entry, "step");
        if (steps.size)
            text_add(&steps, " ");
        if (step)
            text_addf(&steps, "%d", (int)json_integer_value(step));
        else
            text_add(&steps, "w");
    }
    json_decref(list);
    free(whole);
    text_fini(&entries);
    return text_steal(&steps);
}

static void assert_steps(struct journal *journal, uint64_t after, const char *wanted)
{
    uint64_t last;
    char *steps = steps_after(journal, after, 1 << 20, &last);
    assert_string_equal(steps, wanted);
    assert_int_equal(last, journal_last(journal));
    free(steps);
}

static void entries_are_readable_once_they_are_written(void **state)
{
    (void)state;
    struct journal *journal = journal_open(path);
    add(journal, 10);
    add(journal, 20);
    assert_int_equal(journal_last(journal), 0);
    journal_flush(journal);
    assert_int_equal(journal_last(journal), 2);
    assert_steps(journal, 0, "10 20");
    assert_steps(journal, 2, "");
    add(journal, 30);
    journal_flush(journal);
    assert_steps(journal, 2, "30");
    journal_close(journal);
}

static void a_journal_can_be_read_again_from_any_entry(void **state)
{
    (void)state;
    struct journal *journal = journal_open(path);
    for (int i = 1; i <= 5; i++)
        add(journal, i);
    journal_flush(journal);
    assert_steps(journal, 0, "1 2 3 4 5");
    assert_steps(journal, 3, "4 5");
    assert_steps(journal, 0, "1 2 3 4 5");
    assert_steps(journal, 4, "5");
    journal_close(journal);
}

static void a_read_ends_at_its_limit_and_continues_there(void **state)
{
    (void)state;
    struct journal *journal = journal_open(path);
    for (int i = 1; i <= 3000; i++)
        add(journal, i);
    journal_flush(journal);
    uint64_t last = 0;
    unsigned readings = 0;
    while (last < 3000) {
        uint64_t before = last;
        free(steps_after(journal, last, 10000, &last));
        assert_true(last > before);
        readings++;
    }
    assert_in_range(readings, 10, 40);
    journal_close(journal);
}

static void append(const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void an_opened_journal_continues_after_an_incomplete_line(void **state)
{
    (void)state;
    static const char *const cuts[] = {
        "", "{\"seq\": 3, \"ti", "{\"seq\": 3, \"values\": {\"loss\": 5}", "garbage", "\n\n",
    };
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        unlink(path);
        append("{\"seq\": 1, \"type\": \"metric\", \"step\": 1}\n"
               "{\"seq\": 2, \"type\": \"metric\", \"step\": 2}\n");
        append(cuts[i]);
        assert_int_equal(last_in(path), 2);
        struct journal *journal = journal_open(path);
        assert_int_equal(journal_last(journal), 2);
        add(journal, 3);
        journal_flush(journal);
        assert_steps(journal, 0, "1 2 3");
        journal_close(journal);
        assert_int_equal(last_in(path), 3);
    }
}

/* A limit on the size of files acts like a full disk. */
static void limit_file_size(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_delays_entries_and_they_are_readable_meanwhile(void **state)
{
    (void)state;
    struct stat status;
    struct journal *journal = journal_open(path);
    add(journal, 1);
    journal_flush(journal);
    assert_int_equal(stat(path, &status), 0);
    limit_file_size((rlim_t)status.st_size + 10);
    add(journal, 2);
    journal_flush(journal);
    assert_int_equal(last_in(path), 1);
    assert_steps(journal, 0, "1 2");
    add(journal, 3);
    journal_flush(journal);
    assert_steps(journal, 1, "2 3");
    limit_file_size(RLIM_INFINITY);
    journal_flush(journal);
    assert_int_equal(last_in(path), 3);
    assert_steps(journal, 0, "1 2 3");
    journal_close(journal);
}

/* The journal's own descriptor of the file. */
static int descriptor_of(const char *file)
{
    struct stat wanted, found;
    int fd = 3;
    assert_int_equal(stat(file, &wanted), 0);
    while (fstat(fd, &found) < 0 || found.st_ino != wanted.st_ino || found.st_dev != wanted.st_dev)
        assert_true(++fd < 1000);
    return fd;
}

/* As after an eviction from a file server. A descriptor that can only write stands for this. */
static void entries_of_a_file_that_cannot_be_read_are_not_lost(void **state)
{
    (void)state;
    struct journal *journal = journal_open(path);
    add(journal, 1);
    add(journal, 2);
    journal_flush(journal);
    int fd = descriptor_of(path), own = dup(fd), blind = open(path, O_WRONLY | O_APPEND);
    assert_true(own >= 0 && blind >= 0 && dup2(blind, fd) == fd);
    limit_file_size(10);
    add(journal, 3);
    journal_flush(journal);
    uint64_t last;
    char *steps = steps_after(journal, 0, 1 << 20, &last);
    assert_string_equal(steps, "");
    assert_int_equal(last, 0);
    free(steps);
    assert_int_equal(dup2(own, fd), fd);
    assert_steps(journal, 0, "1 2 3");
    limit_file_size(RLIM_INFINITY);
    journal_close(journal);
    close(own);
    close(blind);
}

static void entries_that_a_full_disk_costs_are_counted_without_a_gap(void **state)
{
    (void)state;
    enum { MANY = 50000 };
    struct journal *journal = journal_open(path);
    limit_file_size(10);
    for (int i = 1; i <= MANY; i++) {
        add(journal, i);
        journal_flush(journal);
    }
    journal_add(journal,
                &(struct entry){.type = ENTRY_EXITED, .json = json_pack("{s:i}", "step", 0)});
    limit_file_size(RLIM_INFINITY);
    journal_flush(journal);
    uint64_t last = journal_last(journal), kept = last - 2;
    assert_true(kept > 1000 && kept < MANY);
    struct text entries = {0}, wanted = {0};
    assert_int_equal(journal_read(journal, last - 2, 1 << 20, &entries), last);
    assert_non_null(strstr(text_string(&entries), "\"exited\""));
    text_addf(&wanted, "%d entries of the journal were lost", MANY - (int)kept);
    assert_non_null(strstr(text_string(&entries), text_string(&wanted)));
    text_fini(&entries);
    text_fini(&wanted);
    journal_close(journal);
}

static void a_journal_that_cannot_be_opened_yet_loses_nothing(void **state)
{
    (void)state;
    char *deep = text_format("%s/later", folder), *there = text_format("%s/n1.jsonl", deep);
    struct journal *journal = journal_open(there);
    add(journal, 1);
    journal_flush(journal);
    assert_steps(journal, 0, "1");
    assert_int_equal(mkdir(deep, 0700), 0);
    add(journal, 2);
    journal_flush(journal);
    assert_steps(journal, 0, "1 2");
    journal_close(journal);
    assert_int_equal(last_in(there), 2);
    unlink(there);
    rmdir(deep);
    free(there);
    free(deep);
}

static void write_file(const char *text)
{
    int fd = open(path, O_WRONLY | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static char *read_after(struct journal *journal, uint64_t after, uint64_t last)
{
    struct text entries = {0};
    assert_int_equal(journal_read(journal, after, 1 << 20, &entries), last);
    return text_steal(&entries);
}

static struct journal *journal_of_five(void)
{
    struct journal *journal = journal_open(path);
    for (int i = 1; i <= 5; i++)
        add(journal, i);
    journal_flush(journal);
    free(read_after(journal, 0, 5)); /* the journal remembers where the next read begins */
    return journal;
}

/* As after a requeue on a file server that answers with errors. /proc/self/mem stands for this: it
 * can be opened, but not read at its beginning. */
static void a_journal_that_cannot_be_read_at_its_opening_gives_no_number_twice(void **state)
{
    (void)state;
    uint64_t last;
    char *aside = text_format("%s/aside", folder);
    journal_close(journal_of_five());
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink("/proc/self/mem", path), 0);
    struct journal *journal = journal_open(path);
    add(journal, 6);
    journal_flush(journal);
    assert_true(journal_is_behind(journal));
    char *steps = steps_after(journal, 0, 1 << 20, &last);
    assert_string_equal(steps, ""); /* their numbers are not known yet */
    assert_int_equal(rename(aside, path), 0);
    add(journal, 7);
    journal_flush(journal);
    assert_false(journal_is_behind(journal));
    assert_steps(journal, 0, "1 2 3 4 5 6 7");
    journal_close(journal);
    assert_int_equal(last_in(path), 7);
    free(steps);
    free(aside);
}

static void a_journal_that_somebody_cuts_is_reported_and_continued(void **state)
{
    (void)state;
    struct journal *journal = journal_of_five();
    write_file("{\"seq\": 1, \"type\": \"metric\", \"step\": 1}\n");
    journal_flush(journal); /* it has nothing to write */
    assert_int_equal(journal_last(journal), 6);
    char *read = read_after(journal, 5, 6);
    assert_non_null(strstr(read, "\"type\": \"warning\""));
    assert_non_null(strstr(read, "its journal was cut from "));
    assert_null(strstr(read, "\"lost\""));
    free(read);
    read = read_after(journal, 2, 6); /* this reader has less */
    assert_ptr_equal(strstr(read, "{\"seq\": 5,"), read);
    assert_non_null(strstr(read, "\"type\": \"lost\", \"from\": 3}"));
    free(read);
    add(journal, 7);
    journal_flush(journal);
    assert_steps(journal, 6, "7");
    journal_close(journal);
    assert_int_equal(last_in(path), 7);
}

static void a_journal_that_is_removed_or_replaced_is_made_again(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct journal *journal = journal_of_five();
        unlink(path);
        if (i)
            append("{\"seq\": 1, \"type\": \"metric\", \"step\": 1}\n@#$%\n");
        add(journal, 6);
        journal_flush(journal);
        assert_int_equal(last_in(path), 7);
        char *read = read_after(journal, 5, 7);
        assert_non_null(strstr(read, "its journal was removed or replaced"));
        free(read);
        journal_close(journal);
        unlink(path);
    }
}

static void a_line_of_garbage_does_not_end_the_reading(void **state)
{
    (void)state;
    struct journal *journal = journal_of_five();
    write_file("{\"seq\": 1, \"type\": \"metric\", \"step\": 1}\n"
               "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
               "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
               "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
               "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
               "{\"seq\": 5, \"type\": \"metric\", \"step\": 5}\n");
    add(journal, 6);
    journal_flush(journal);
    char *read = read_after(journal, 1, 6);
    assert_ptr_equal(strstr(read, "{\"seq\": 4,"), read);
    assert_non_null(strstr(read, "\"type\": \"lost\", \"from\": 2}"));
    assert_non_null(strstr(read, "\"step\": 6"));
    free(read);
    journal_close(journal);
}

/* A reader that has come to its end, and one that begins anew. */
static void a_line_with_a_wrong_number_does_not_end_the_reading(void **state)
{
    (void)state;
    struct journal *journal = journal_of_five();
    append("{\"seq\": 999999, \"type\": \"metric\", \"step\": 0}\n"
           "{\"seq\": 8, \"type\": \"metric\", \"step\": 0}\n");
    assert_steps(journal, 5, "");
    for (int i = 6; i <= 9; i++)
        add(journal, i);
    journal_flush(journal);
    assert_steps(journal, 5, "6 7 8 9 w");
    assert_steps(journal, 0, "1 2 3 4 5 6 7 8 9 w");
    journal_close(journal);
    journal = journal_open(path); /* by another process */
    add(journal, 11);
    journal_flush(journal);
    assert_steps(journal, 9, "w 11");
    journal_close(journal);
}

/* JSON cannot hold the number after it. */
static void a_journal_continues_after_a_number_without_a_successor(void **state)
{
    (void)state;
    journal_close(journal_of_five());
    append("{\"seq\": 9223372036854775807, \"type\": \"metric\", \"step\": 0}\n");
    struct journal *journal = journal_open(path);
    assert_int_equal(journal_last(journal), 5);
    add(journal, 6);
    journal_flush(journal);
    assert_steps(journal, 0, "1 2 3 4 5 6");
    journal_close(journal);
}

/* Jansson takes it for white space, and a string would end there. */
static void a_line_with_a_zero_byte_is_no_entry(void **state)
{
    static const char line[] = "{\"seq\": 6, \"type\": \"metric\", \"step\": 6\0}\n";
    (void)state;
    struct journal *journal = journal_of_five();
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    assert_int_equal(fwrite(line, 1, sizeof line - 1, file), sizeof line - 1);
    assert_int_equal(fclose(file), 0);
    journal_close(journal);
    journal = journal_open(path);
    assert_int_equal(journal_last(journal), 5);
    add(journal, 6);
    journal_flush(journal);
    assert_steps(journal, 0, "1 2 3 4 5 6");
    journal_close(journal);
}

/* The largest memory of this process so far. */
static long memory_peak_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* A full file system or a crash may leave a hole of any size, which has no line ends. */
static void an_endless_line_takes_little_memory_and_is_skipped(void **state)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    const long most_kib = LONG_MAX; /* sanitizers need memory of their own */
#else
    const long most_kib = 128 << 10;
#endif
    (void)state;
    struct journal *journal = journal_of_five();
    journal_close(journal);
    assert_int_equal(truncate(path, 192 << 20), 0);
    assert_int_equal(last_in(path), 5);
    journal = journal_open(path);
    add(journal, 6);
    journal_flush(journal);
    assert_steps(journal, 3, "4 5 6");
    assert_int_equal(last_in(path), 6);
    journal_close(journal);
    assert_true(memory_peak_kib() < most_kib);
}

/* The daemon skips it, too. */
static void a_line_longer_than_any_entry_is_no_entry(void **state)
{
    static const struct {
        size_t size; /* with the line end */
        uint64_t last;
    } rows[] = {{JOURNAL_LINE_MAX, 1}, {JOURNAL_LINE_MAX + 1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *line =
            text_format("{\"seq\": 1, \"type\": \"metric\"%*s}\n",
                        (int)(rows[i].size - strlen("{\"seq\": 1, \"type\": \"metric\"}\n")), "");
        assert_int_equal(strlen(line), rows[i].size);
        assert_int_equal(file_replace(path, line, rows[i].size, 0600, NULL), 0);
        assert_int_equal(last_in(path), rows[i].last);
        free(line);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(entries_are_readable_once_they_are_written),
        TEST(a_journal_can_be_read_again_from_any_entry),
        TEST(a_read_ends_at_its_limit_and_continues_there),
        TEST(an_opened_journal_continues_after_an_incomplete_line),
        TEST(a_full_disk_delays_entries_and_they_are_readable_meanwhile),
        TEST(entries_of_a_file_that_cannot_be_read_are_not_lost),
        TEST(entries_that_a_full_disk_costs_are_counted_without_a_gap),
        TEST(a_journal_that_cannot_be_opened_yet_loses_nothing),
        TEST(a_journal_that_cannot_be_read_at_its_opening_gives_no_number_twice),
        TEST(a_journal_that_somebody_cuts_is_reported_and_continued),
        TEST(a_journal_that_is_removed_or_replaced_is_made_again),
        TEST(a_line_of_garbage_does_not_end_the_reading),
        TEST(a_line_with_a_wrong_number_does_not_end_the_reading),
        TEST(a_journal_continues_after_a_number_without_a_successor),
        TEST(a_line_with_a_zero_byte_is_no_entry),
        TEST(an_endless_line_takes_little_memory_and_is_skipped),
        TEST(a_line_longer_than_any_entry_is_no_entry),
    };
    (void)signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
