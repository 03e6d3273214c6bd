/* The entries of a journal come in order, whatever order its lines have. */
#include "tests/unit/unit.h"

#include "lib/memory.h"
#include "lib/protocol/journal_order.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_in_order),
        cmocka_unit_test(few_entries_are_held),
    };
    return cmocka_run_group_tests_name("journal order", tests, NULL, NULL);
}
