/* The pace of a node, and who is a straggler. */
#include "tests/unit/unit.h"

#include "worker/health/pace.h"

#include <math.h>

static void a_pace_needs_time_and_steps(void **state)
{
    (void)state;
    static const struct {
        unsigned steps, each_ms;
        double steps_per_s; /* of the first window; 0: unknown */
    } rows[] = {
        {4, 60000, 0},                      /* too few steps */
        {6, 60000, 1 / 60.0}, {50, 100, 0}, /* too little time */
        {101, 100, 10},       {1000, 10, 0}, {1002, 10, 100},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pace pace = {0};
        struct pace_span span;
        double got = 0;
        for (unsigned step = 0; step < rows[i].steps && got == 0; step++) {
            pace_step(&pace, 500 + step, (int64_t)step * rows[i].each_ms);
            if (pace_take(&pace, PACE_WINDOW_MS, &span))
                got = (double)span.steps / span.seconds;
        }
        assert_true(fabs(got - rows[i].steps_per_s) < 1e-9);
        assert_false(pace_take(&pace, PACE_WINDOW_MS,
                               &span)); /* a new window has begun, or no window was complete */
    }
}

static void a_count_that_begins_again_gives_no_pace(void **state)
{
    (void)state;
    struct pace pace = {0};
    struct pace_span span;
    pace_step(&pace, 1000, 0);
    pace_step(&pace, 3, 5000);
    pace_step(&pace, 13, 25000);
    assert_false(pace_take(&pace, 20001, &span));
    assert_true(pace_take(&pace, 20000, &span));
    assert_int_equal(span.steps, 10);
    assert_true(fabs(span.seconds - 20) < 1e-9);
}

static void a_straggler_must_be_slow_twice_in_a_row(void **state)
{
    (void)state;
    enum { N1, N2, N3, COUNT };
    static const struct {
        unsigned node;
        double steps_per_s;
        int64_t now_s;
        bool is_new;
        unsigned fastest;
    } rows[] = {
        {N2, 0.5, 10, false, N2},                             /* there is nobody to compare with */
        {N1, 1.0, 11, false, N1},  {N2, 0.5, 20, false, N1},  /* slow once */
        {N1, 1.0, 21, false, N1},  {N3, 0.76, 21, false, N1}, /* not slow enough */
        {N3, 0.76, 31, false, N1}, {N2, 0.5, 30, true, N1},   /* slow twice */
        {N2, 0.5, 40, false, N1},                             /* reported once */
        {N2, 0.9, 50, false, N1},                             /* it has recovered */
        {N2, 0.6, 60, false, N1},  {N2, 0.6, 70, true, N1},   /* and becomes slow again */
        {N2, 0.9, 80, false, N1},  {N2, 0.6, 90, false, N1},
        {N2, 0.6, 100, true, N1},  {N2, 0.9, 110, false, N1},
        {N2, 0.6, 120, false, N1}, {N2, 0.6, 130, false, N1}, /* the fourth time is not reported */
        {N3, 0.1, 500, false, N3},                            /* an old pace does not count */
        {N3, 0.1, 510, false, N3}, {N1, 1.0, 520, false, N1},
        {N3, 0.1, 530, false, N1}, {N3, 0.1, 540, true, N1},
    };
    struct pace_node nodes[COUNT] = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned fastest;
        print_message("# row %zu\n", i);
        assert_int_equal(pace_compare(nodes, COUNT, rows[i].node, rows[i].steps_per_s,
                                      rows[i].now_s * 1000, &fastest),
                         rows[i].is_new);
        assert_int_equal(fastest, rows[i].fastest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pace_needs_time_and_steps),
        cmocka_unit_test(a_count_that_begins_again_gives_no_pace),
        cmocka_unit_test(a_straggler_must_be_slow_twice_in_a_row),
    };
    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
