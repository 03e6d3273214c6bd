/* Series by name: order of steps, repeated steps, many names; which names there are. */
#include "tests/unit/unit.h"

#include "lib/expr/metrics.h"
#include "lib/metrics/columns.h"
#include "lib/metrics/extract.h"
#include "lib/text.h"

#include <stdlib.h>

static void assert_rows(struct metrics *metrics, const char *name, const char *expected)
{
    struct text text = {0};
    struct metrics_series series = metrics_find(metrics, name);
    for (size_t i = 0; i < series.count; i++)
        text_addf(&text, "%s%lld:%g", i ? " " : "", (long long)series.rows[i].step,
                  series.rows[i].value);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
}

static void a_name_that_never_came_has_no_rows(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    assert_int_equal(metrics_find(metrics, "loss").count, 0);
    metrics_add(metrics, "loss", 1, 0, 5);
    assert_int_equal(metrics_find(metrics, "los").count, 0);
    metrics_free(metrics);
}

static void the_last_row_of_a_repeated_step_counts(void **state)
{
    (void)state;
    static const struct {
        const char *claim;
        struct {
            int64_t step;
            double value;
        } added[10];
        size_t count;
        const char *expected;
    } cases[] = {
        {"in order", {{1, 5}, {2, 4}, {3, 3}}, 3, "1:5 2:4 3:3"},
        {"the newest again", {{1, 5}, {2, 4}, {2, 3}}, 3, "1:5 2:3"},
        {"resumed", {{1, 5}, {2, 4}, {3, 3}, {2, 9}, {3, 8}, {4, 7}}, 6, "1:5 2:9 3:8 4:7"},
        {"backwards", {{3, 1}, {2, 2}, {1, 3}, {0, 4}}, 4, "0:4 1:3 2:2 3:1"},
        {"a gap filled twice", {{1, 1}, {9, 9}, {5, 4}, {5, 5}, {9, 8}, {1, 0}}, 6, "1:0 5:5 9:8"},
        {"negative steps", {{-1, 1}, {-3, 2}, {0, 3}}, 3, "-3:2 -1:1 0:3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct metrics *metrics = metrics_new();
        for (size_t j = 0; j < cases[i].count; j++)
            metrics_add(metrics, "m", cases[i].added[j].step, 0, cases[i].added[j].value);
        assert_rows(metrics, "m", cases[i].expected);
        metrics_free(metrics);
    }
}

static void the_newest_steps_may_be_negative(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    for (int step = -4; step < 1; step++) {
        json_t *columns = columns_json(metrics, NULL, 0, 2);
        json_t *expected = step < -3   ? json_pack("[]")
                           : step < -2 ? json_pack("[i]", step - 1)
                                       : json_pack("[i, i]", step - 2, step - 1);
        assert_true(json_equal(json_object_get(columns, "steps"), expected));
        metrics_add(metrics, "m", step, 0, 1);
        json_decref(columns);
        json_decref(expected);
    }
    metrics_free(metrics);
}

/* Names of a request or of a command line may be any bytes. */
static void a_name_that_is_not_utf8_has_no_series(void **state)
{
    (void)state;
    static const char *const names[] = {"\xff", "loss", "\xc3"};
    struct metrics *metrics = metrics_new();
    for (int step = 1; step < 4; step++)
        metrics_add(metrics, "loss", step, 0, 9 - step);
    json_t *columns = columns_json(metrics, names, 3, 0);
    json_t *expected = json_pack("{s:[i,i,i], s:[f,f,f], s:{s:[f,f,f]}}", "steps", 1, 2, 3, "times",
                                 0.0, 0.0, 0.0, "series", "loss", 8.0, 7.0, 6.0);
    assert_true(json_equal(columns, expected));
    json_decref(columns);
    json_decref(expected);
    metrics_free(metrics);
}

static void a_series_of_samples_may_have_a_step_many_times(void **state)
{
    (void)state;
    static const struct {
        int64_t step;
        double value;
    } added[] = {{1, 5}, {1, 4}, {3, 3}, {3, 2}, {2, 9}, {1, 8}, {2, 7}};
    struct metrics *metrics = metrics_new();
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        metrics_add_sample(metrics, "m", added[i].step, (double)i, added[i].value);
    assert_rows(metrics, "m", "1:5 1:4 1:8 2:9 2:7 3:3 3:2");
    metrics_add_sample(metrics, "m", 3, 7, 1);
    assert_rows(metrics, "m", "1:5 1:4 1:8 2:9 2:7 3:3 3:2 3:1");
    metrics_free(metrics);
}

/* The expected values are in an array indexed by step. */
static void a_million_rows_in_any_order_end_sorted(void **state)
{
    (void)state;
    enum { STEPS = 1000, ROWS = 1000000 };
    struct metrics *metrics = metrics_new();
    double expected[STEPS];
    uint32_t random = 1;
    for (int i = 0; i < ROWS; i++) {
        random = random * 1664525u + 1013904223u;
        int step = (int)(random >> 8) % STEPS;
        metrics_add(metrics, "m", step, i, i);
        expected[step] = i;
        if (i % 100000 == 17)
            (void)metrics_find(metrics, "m"); /* this also sorts half-way */
    }
    struct metrics_series series = metrics_find(metrics, "m");
    assert_int_equal(series.count, STEPS);
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(series.rows[step].step, step);
        assert_true(series.rows[step].value == expected[step]);
        assert_true(series.rows[step].time_s == expected[step]);
    }
    metrics_free(metrics);
}

/* This would take hours if each row were moved to its place at once. */
static void a_million_rows_in_reverse_order_are_fast(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    for (int i = 1000000; i > 0; i--)
        metrics_add(metrics, "m", i, 0, -i);
    struct metrics_series series = metrics_find(metrics, "m");
    assert_int_equal(series.count, 1000000);
    for (int i = 0; i < 1000000; i++)
        assert_true(series.rows[i].step == i + 1 && series.rows[i].value == -(i + 1));
    metrics_free(metrics);
}

static void names_are_kept_in_order_of_arrival(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    for (int i = 0; i < 3000; i++) {
        char *name = text_format("name_%d", i % 1500);
        metrics_add(metrics, name, i, 0, i);
        free(name);
    }
    assert_int_equal(metrics_name_count(metrics), 1500);
    assert_string_equal(metrics_name(metrics, 0), "name_0");
    assert_string_equal(metrics_name(metrics, 1499), "name_1499");
    assert_rows(metrics, "name_7", "7:7 1507:1507");
    metrics_free(metrics);
}

static void a_name_is_plain_and_not_too_long(void **state)
{
    (void)state;
    static const char *const good[] = {"loss", "_loss", "step_0", "l"};
    static const char *const wrong[] = {"",         "0_loss",   "Loss",
                                        "val/loss", "a&last=1", "l\xC3\xB6ss"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(extract_is_name(good[i]));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(extract_is_name(wrong[i]));
    char *longest = text_format("%0*d", EXTRACT_NAME_MAX, 0), *longer;
    longest[0] = 'a';
    assert_true(extract_is_name(longest));
    longer = text_format("%s0", longest);
    assert_false(extract_is_name(longer));
    free(longest);
    free(longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_never_came_has_no_rows),
        cmocka_unit_test(the_last_row_of_a_repeated_step_counts),
        cmocka_unit_test(the_newest_steps_may_be_negative),
        cmocka_unit_test(a_name_that_is_not_utf8_has_no_series),
        cmocka_unit_test(a_series_of_samples_may_have_a_step_many_times),
        cmocka_unit_test(a_million_rows_in_any_order_end_sorted),
        cmocka_unit_test(a_million_rows_in_reverse_order_are_fast),
        cmocka_unit_test(names_are_kept_in_order_of_arrival),
        cmocka_unit_test(a_name_is_plain_and_not_too_long),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
