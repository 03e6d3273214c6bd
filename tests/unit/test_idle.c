/* Idle GPUs: a table of what three GPUs do, and what is reported. */
#include "tests/unit/unit.h"

#include "lib/text.h"
#include "worker/telemetry/idle.h"

#include <math.h>
#include <stdlib.h>

enum { GPUS = 3 };

/* So many seconds with these utilisations; below 0: the value is missing. */
struct stretch {
    unsigned seconds;
    double util[GPUS];
};

struct idle_case {
    const char *title;
    unsigned limit_s;
    struct stretch stretches[6];
    const char *told; /* all messages, each with its second */
};

static const struct idle_case cases[] = {
    {"a GPU that works is not told of", 20, {{100, {90, 60, 5}}}, ""},
    {"one is told of when the whole time has passed, and once",
     20,
     {{90, {90, 0, 90}}},
     "20 GPU 1 is idle: busy for 0.0 % of the last 20 s\n"},
    {"it counts from when it stopped working, but for what 5 % of the time allows",
     20,
     {{10, {90, 90, 90}}, {40, {90, 90, 0}}},
     "30 GPU 2 is idle: busy for 0.0 % of the last 20 s\n"},
    {"those that become idle together are told of together",
     600,
     {{700, {0, 4, 90}}},
     "600 GPUs 0-1 are idle: busy for 2.0 % of the last 10 min\n"},
    {"those that do not lie side by side are listed",
     20,
     {{30, {1, 90, 2}}},
     "20 GPUs 0, 2 are idle: busy for 1.5 % of the last 20 s\n"},
    {"a second of work in each minute does not hide it",
     600,
     {{59, {90, 90, 0}}, {1, {90, 90, 100}}, {539, {90, 90, 0}}, {1, {90, 90, 100}}},
     "600 GPU 2 is idle: busy for 0.3 % of the last 10 min\n"},
    {"that it works again is told, with how long it did not",
     20,
     {{24, {0, 0, 0}}, {2, {90, 90, 0}}, {2, {90, 90, 90}}, {20, {90, 90, 90}}},
     "20 all 3 GPUs are idle: busy for 0.0 % of the last 20 s\n"
     "26 GPUs 0-1 work again, after 26 s\n"
     "28 GPU 2 works again, after 28 s\n"},
    {"one begins while another ends",
     20,
     {{10, {0, 90, 90}}, {20, {0, 0, 90}}, {10, {90, 0, 90}}},
     "20 GPU 0 is idle: busy for 0.0 % of the last 20 s\n"
     "30 GPU 1 is idle: busy for 0.0 % of the last 20 s\n"
     "32 GPU 0 works again, after 32 s\n"},
    {"what is not told is not taken for nothing done", 20, {{100, {-1, -1, 90}}}, ""},
    {"nor is what is told seldom", 20, {{14, {-1, 90, 90}}, {6, {0, 90, 90}}}, ""},
    {"a short time is watched second by second",
     3,
     {{2, {90, 90, 90}}, {3, {0, 90, 90}}},
     "5 GPU 0 is idle: busy for 0.0 % of the last 3 s\n"},
    {"without a time nothing is told", 0, {{100, {0, 0, 0}}}, ""},
};

static struct gpu_second second_of(const double util[GPUS])
{
    static const unsigned numbers[GPUS] = {0, 1, 2};
    struct gpu_second second;
    second_init(&second, numbers, GPUS);
    for (unsigned i = 0; i < GPUS; i++)
        second.values[GPU_UTIL][i] = util[i] < 0 ? NAN : util[i];
    return second;
}

static void idle_gpus_are_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct idle_case *row = &cases[i];
        struct idle idle;
        struct text told = {0};
        unsigned now = 0;
        idle_init(&idle, row->limit_s);
        for (const struct stretch *at = row->stretches; at->seconds; at++)
            for (unsigned s = 0; s < at->seconds; s++) {
                struct gpu_second second = second_of(at->util);
                char *message = idle_add(&idle, &second);
                now++;
                if (message)
                    text_addf(&told, "%u %s\n", now, message);
                free(message);
            }
        if (!text_equal(text_string(&told), row->told))
            print_error("%s\n", row->title);
        assert_string_equal(text_string(&told), row->told);
        text_fini(&told);
    }
}

static void a_gpu_that_is_idle_again_and_again_is_reported_a_few_times(void **state)
{
    (void)state;
    static const double busy[GPUS] = {90, 90, 90}, lazy[GPUS] = {0, 90, 90};
    struct idle idle;
    unsigned told = 0;
    idle_init(&idle, 10);
    for (unsigned s = 0; s < 2000; s++) {
        struct gpu_second second = second_of(s / 50 % 2 ? lazy : busy);
        char *message = idle_add(&idle, &second);
        told += message != NULL;
        free(message);
    }
    assert_int_equal(told, IDLE_TELL_MAX);
}

static void another_gpu_begins_a_new_count(void **state)
{
    (void)state;
    static const unsigned numbers[] = {4, 5};
    static const double lazy[GPUS] = {0, 0, 0};
    struct gpu_second before = second_of(lazy), after;
    struct idle idle;
    char *message = NULL;
    second_init(&after, numbers, 2);
    after.values[GPU_UTIL][0] = after.values[GPU_UTIL][1] = 0;
    idle_init(&idle, 10);
    for (unsigned s = 0; s < 9; s++)
        assert_null(idle_add(&idle, &before));
    for (unsigned s = 0; s < 10; s++) {
        assert_null(message);
        message = idle_add(&idle, &after);
    }
    assert_string_equal(message, "all 2 GPUs are idle: busy for 0.0 % of the last 10 s");
    free(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_gpus_are_reported),
        cmocka_unit_test(a_gpu_that_is_idle_again_and_again_is_reported_a_few_times),
        cmocka_unit_test(another_gpu_begins_a_new_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
