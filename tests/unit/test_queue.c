/* Limits of the queue: the file, and the window of the day. */
#include "tests/unit/unit.h"

#include "daemon/loop/queue.h"
#include "lib/error.h"
#include "lib/spec/queue_limits.h"
#include "lib/text.h"
#include "lib/units.h"

#include <string.h>

static void limits_are_read_or_told_where_they_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json, *problem;
    } cases[] = {
        {"", "{}", NULL},
        {"jobs: 4\ngpus: 64\n", "{\"jobs\": 4, \"gpus\": 64}", NULL},
        {"month: {usd: 5000, gpu_hours: 2.5}\n", "{\"month\": {\"usd\": 5000, \"gpu_hours\": 2.5}}",
         NULL},
        {"jobs: 0\n", NULL, "limits.yaml:1:7: jobs: less than 1\n"},
        {"gpu: 4\n", NULL, "limits.yaml:1:1: gpu: unknown key (did you mean gpus?)\n"},
        {"month: 5\n", NULL,
         "limits.yaml:1:8: month: not a budget, such as {usd: 500, gpu_hours: 48}\n"},
        {"- jobs\n", NULL, "limits.yaml:1:1: not a map of limits: jobs, gpus and month\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec_problems problems = {.file = text_format("limits.yaml")};
        struct text lines = {0};
        json_t *limits = queue_limits_read(cases[i].text, strlen(cases[i].text), &problems);
        json_t *expected = cases[i].json ? json_loads(cases[i].json, 0, NULL) : NULL;
        spec_problems_text(&problems, &lines);
        assert_string_equal(text_string(&lines), cases[i].problem ? cases[i].problem : "");
        assert_int_equal(limits != NULL, cases[i].json != NULL);
        assert_true(!expected || json_equal(limits, expected));
        json_decref(expected);
        json_decref(limits);
        text_fini(&lines);
        spec_problems_fini(&problems);
    }
}

static void a_window_may_go_over_midnight(void **state)
{
    (void)state;
    static const struct {
        const char *window;
        unsigned minute;
        bool is_open;
    } cases[] = {
        {"08:00-20:00", 8 * 60, true},      {"08:00-20:00", 20 * 60, false},
        {"08:00-20:00", 8 * 60 - 1, false}, {"20:00-08:00", 20 * 60, true},
        {"20:00-08:00", 0, true},           {"20:00-08:00", 8 * 60 - 1, true},
        {"20:00-08:00", 8 * 60, false},     {"00:00-23:59", 23 * 60 + 59, false},
    };
    static const char *const bad[] = {
        "",     "8-20", "08:00-08:00", "24:00-08:00", "08:60-09:00", "08:00-20:00 ", "-8:00-20:00",
        "08:00"};
    unsigned from, to;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(units_parse_window(cases[i].window, &from, &to, NULL), 0);
        assert_int_equal(queue_is_open(from, to, cases[i].minute), cases[i].is_open);
    }
    assert_true(queue_is_open(0, 0, 5));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(units_parse_window(bad[i], &from, &to, NULL) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_read_or_told_where_they_are_wrong),
        cmocka_unit_test(a_window_may_go_over_midnight),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
