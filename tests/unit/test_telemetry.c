/* Telemetry: seconds of GPUs as JSON, and brought together. */
#include "tests/unit/unit.h"

#include "worker/telemetry/means.h"

#include <math.h>
#include <stdlib.h>

static struct gpu_second second_of(const char *text)
{
    struct gpu_second second;
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_true(second_from_json(json, &second));
    json_decref(json);
    return second;
}

static void expect_json(const struct gpu_second *second, enum second_form form, const char *text)
{
    json_t *json = second_to_json(second, form);
    char *dump = json_dumps(json, JSON_REAL_PRECISION(15) | JSON_COMPACT);
    assert_string_equal(dump, text);
    free(dump);
    json_decref(json);
}

static void what_no_gpu_tells_is_left_out_and_what_one_does_not_is_null(void **state)
{
    (void)state;
    struct gpu_second second =
        second_of("{\"time\": 5.25, \"gpus\": [2, 3], \"util\": [97.25, null], "
                  "\"power_w\": [650, 649.96], \"tensor_active\": [null, null]}");
    expect_json(&second, SECOND_EXACT,
                "{\"time\":5.25,\"gpus\":[2,3],\"util\":[97.3,null],\"power_w\":[650,650]}");
    expect_json(&second, SECOND_SHORT, "{\"gpus\":[2,3],\"util\":[97,null],\"power_w\":[650,650]}");
    assert_true(isnan(second_mean(&second, GPU_TENSOR_ACTIVE)));
    assert_true(second_mean(&second, GPU_UTIL) == 97.25);
}

static void what_is_no_second_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}", "[]", "{\"gpus\": 8}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gpu_second second;
        json_t *json = json_loads(texts[i], 0, NULL);
        assert_false(second_from_json(json, &second));
        json_decref(json);
    }
}

static void seconds_are_brought_together_by_the_kind_of_column(void **state)
{
    (void)state;
    static const char *const seconds[] = {
        "{\"time\": 1, \"gpus\": [0, 1], \"util\": [90, 10], \"memory_mib\": [500, 100], "
        "\"clock_reasons\": [4, 0], \"ecc_corrected\": [0, 7]}",
        "{\"time\": 2, \"gpus\": [0, 1], \"util\": [100, null], \"memory_mib\": [300, 200], "
        "\"clock_reasons\": [32, 0], \"ecc_corrected\": [1, 7]}",
        "{\"time\": 3, \"gpus\": [0, 1], \"util\": [80, 20], \"memory_mib\": [400, 100], "
        "\"clock_reasons\": [4, 1], \"ecc_corrected\": [2, 9]}",
    };
    struct means means = {0};
    struct gpu_second second, mean;
    assert_false(means_take(&means, &mean));
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        second = second_of(seconds[i]);
        means_add(&means, &second);
    }
    assert_int_equal(means.seconds, 3);
    assert_true(means_take(&means, &mean));
    expect_json(&mean, SECOND_EXACT,
                "{\"time\":3.0,\"gpus\":[0,1],\"util\":[90,15],\"memory_mib\":[500,200],"
                "\"clock_reasons\":[36,1],\"ecc_corrected\":[2,9]}");
    assert_false(means_take(&means, &mean));
}

static void other_gpus_begin_anew(void **state)
{
    (void)state;
    struct means means = {0};
    struct gpu_second second = second_of("{\"time\": 1, \"gpus\": [0], \"util\": [10]}"), mean;
    means_add(&means, &second);
    second = second_of("{\"time\": 2, \"gpus\": [1], \"util\": [70]}");
    means_add(&means, &second);
    assert_int_equal(means.seconds, 1);
    assert_true(means_take(&means, &mean));
    expect_json(&mean, SECOND_SHORT, "{\"gpus\":[1],\"util\":[70]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_gpu_tells_is_left_out_and_what_one_does_not_is_null),
        cmocka_unit_test(what_is_no_second_is_refused),
        cmocka_unit_test(seconds_are_brought_together_by_the_kind_of_column),
        cmocka_unit_test(other_gpus_begin_anew),
    };
    return cmocka_run_group_tests_name("telemetry", tests, NULL, NULL);
}
