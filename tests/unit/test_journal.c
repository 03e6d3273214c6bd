/* The journal of a run: numbers without gaps, whatever happens to the file. */
#include "tests/unit/unit.h"

#include "lib/file.h"
#include "lib/text.h"
#include "worker/journal.h"

#include <fcntl.h>
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

static bool last_found(void *context, const json_t *entry)
{
    *(uint64_t *)context = (uint64_t)json_integer_value(json_object_get(entry, "seq"));
    return true;
}

/* The number of the last whole entry in the file. */
static uint64_t last_in(const char *file)
{
    uint64_t last = 0;
    journal_visit(file, NULL, last_found, &last);
    return last;
}

static void add(struct journal *journal, int step)
{
    journal_add(journal, JOURNAL_FACT, "metric", json_pack("{s:i}", "step", step));
}

/* The steps of what is read after a number: "1 2 3"; w for a warning. */
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

static void any_reading_can_be_repeated_from_any_number(void **state)
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

static void a_reading_ends_at_its_bound_and_goes_on_there(void **state)
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

static void an_opened_journal_goes_on_after_a_line_that_was_cut_short(void **state)
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

/* A full disk is imitated by a limit on the size of files. */
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

static void what_a_full_disk_costs_is_counted_and_leaves_no_gap(void **state)
{
    (void)state;
    enum { MANY = 50000 };
    struct journal *journal = journal_open(path);
    limit_file_size(10);
    for (int i = 1; i <= MANY; i++) {
        add(journal, i);
        journal_flush(journal);
    }
    journal_add(journal, JOURNAL_STATE, "exited", json_pack("{s:i}", "step", 0));
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(entries_are_readable_once_they_are_written),
        TEST(any_reading_can_be_repeated_from_any_number),
        TEST(a_reading_ends_at_its_bound_and_goes_on_there),
        TEST(an_opened_journal_goes_on_after_a_line_that_was_cut_short),
        TEST(a_full_disk_delays_entries_and_they_are_readable_meanwhile),
        TEST(what_a_full_disk_costs_is_counted_and_leaves_no_gap),
        TEST(a_journal_that_cannot_be_opened_yet_loses_nothing),
    };
    (void)signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
