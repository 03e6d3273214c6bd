/* The entries of a journal come in order, whatever order its lines have, and are read once. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "daemon/ingest/ingest_private.h"
#include "lib/memory.h"
#include "lib/protocol/journal_order.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What has come: a number, or its item where that is another one; > before it: entries are missing.
 */
static void take(struct journal_order *order, bool is_end, struct text *taken)
{
    uint64_t number, before = order->last;
    void *item;
    while (journal_order_next(order, is_end, &number, &item)) {
        text_addf(taken, "%s%s%s", taken->size ? " " : "", number == before + 1 ? "" : ">",
                  (char *)item);
        before = number;
        free(item);
    }
}

/* Of a text such as "1 3 2|": | is an end of the file, after which more is written. */
static char *order_of(const char *lines, uint64_t *ret_stray)
{
    struct journal_order order = {.drop = free};
    struct text taken = {0};
    for (const char *at = lines; *at;) {
        char *end;
        uint64_t number = strtoull(at, &end, 10);
        size_t size = strcspn(at, " |");
        if (number)
            journal_order_add(&order, number, xstrndup(at, size));
        take(&order, at[size] == '|' || !at[size], &taken);
        at += size + (at[size] != '\0');
    }
    *ret_stray = order.stray;
    assert_int_equal(order.count, 0);
    journal_order_fini(&order);
    return text_steal(&taken);
}

static void entries_come_in_order(void **state)
{
    static const struct {
        const char *lines, *taken;
        uint64_t stray;
    } rows[] = {
        {"", "", 0},
        {"1 2 3", "1 2 3", 0},
        {"1 2|3 4", "1 2 3 4", 0},
        {"1 2 2 1 3", "1 2 3", 0}, /* written twice */
        {"1 2 5 6", "1 2 >5 6", 0},
        {"1 2|5 6|7", "1 2 >5 6 7", 0},
        {"3 4|5", ">3 4 5", 0}, /* the beginning was cut off */
        {"1 3 2 4", "1 2 3 4", 0},
        {"3 2 1 4", "1 2 3 4", 0},
        {"1 3 2", "1 2 3", 0},
        {"1 2 99 3 4 5", "1 2 3 4 5", 99},
        {"1 2 99 3 4|5", "1 2 3 4 5", 99},
        {"99 1 2 3", "1 2 3", 99},
        {"1 99 88 2 3", "1 2 3", 99},
        {"1 2 99 4 5", "1 2 >4 5", 99}, /* in the place of 3 */
        {"1 99 3|4", "1 >3 4", 99},
        {"1 2 5x 3 4 5 6", "1 2 3 4 5 6", 5}, /* the number of another one */
        {"1 2 5x 3 4 6", "1 2 3 4 5x 6", 0},
        {"1 2 99", "1 2 >99", 0}, /* nobody knows that more will come */
        {"5 6 7 1 2", "1 2", 7},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t stray;
        char *taken = order_of(rows[i].lines, &stray);
        if (!text_equal(taken, rows[i].taken) || stray != rows[i].stray)
            fail_msg("%s: %s (%d) instead of %s (%d)", rows[i].lines, taken, (int)stray,
                     rows[i].taken, (int)rows[i].stray);
        free(taken);
    }
}

/* Entries wait for those before them, but not forever. */
static void few_entries_are_held(void **state)
{
    struct journal_order order = {0};
    uint64_t number, first = 0;
    void *item;
    (void)state;
    journal_order_add(&order, 1000000, NULL);
    for (uint64_t i = 2; i < 1000; i++) { /* the first is missing */
        journal_order_add(&order, i, NULL);
        assert_true(order.count <= JOURNAL_ORDER_MAX);
        while (journal_order_next(&order, false, &number, &item))
            first = first ? first : number;
    }
    assert_int_equal(first, 2);
    assert_int_equal(order.last, 999);
    assert_int_equal(order.count, 1);
    assert_false(journal_order_next(&order, true, &number, &item));
    assert_int_equal(order.stray, 1000000);
}

/* Reads the journal of n1 as the daemon does while the run goes on, and takes all entries. Returns
 * how many bytes were read. */
static off_t look(uint64_t *taken, struct reading_mark *mark)
{
    struct reading reading;
    reading_open(&reading, folder, "n1", *taken, false);
    (void)reading_skip(&reading, mark);
    off_t begin = reading.file.offset;
    while (reading_next(&reading)) {
        if (!reading.gap_first)
            *taken = reading.last;
        json_decref(reading.entries);
    }
    reading_set_mark(&reading, *taken, mark);
    off_t end = reading.file.offset;
    reading_close(&reading);
    return end - begin;
}

#define LINE(number) "{\"seq\":" #number "}\n"

static void a_second_look_reads_only_what_is_new(void **state)
{
    enum { SIZE = sizeof LINE(1) - 1 };
    struct reading_mark mark = {0};
    uint64_t taken = 0;
    (void)state;
    folder_put(LINE(1) LINE(2) "{\"se", "journal/n1.jsonl");
    assert_int_equal(look(&taken, &mark), 2 * SIZE);
    assert_int_equal(taken, 2);
    char *path = journal_path(folder, "n1");
    FILE *file = fopen(path, "re+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 2 * SIZE, SEEK_SET), 0);
    assert_true(fputs(LINE(3), file) >= 0);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(look(&taken, &mark), SIZE);
    assert_int_equal(taken, 3);
    assert_int_equal(look(&taken, &mark), 0);
    assert_true(fputs(LINE(5), file) >= 0); /* and what is missing is looked for again */
    assert_int_equal(fflush(file), 0);
    assert_int_equal(look(&taken, &mark), SIZE);
    assert_int_equal(look(&taken, &mark), SIZE);
    assert_int_equal(ftruncate(fileno(file), SIZE), 0);
    assert_int_equal(look(&taken, &mark), SIZE);
    assert_int_equal(fclose(file), 0);
    folder_put(LINE(1) LINE(2) LINE(3) LINE(4), "journal/n1.jsonl");
    mark.inode = 0; /* another file with this name; its inode may have any number but 0 */
    assert_int_equal(look(&taken, &mark), 4 * SIZE);
    assert_int_equal(taken, 4);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_in_order),
        cmocka_unit_test(few_entries_are_held),
        cmocka_unit_test_setup_teardown(a_second_look_reads_only_what_is_new, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests_name("journal order", tests, NULL, NULL);
}
