/* Checks and verdicts: windows, bounds, insufficient data, NaN, JSON. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/expr/metrics.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads a check named c. Fails the test if the check cannot be read. */
static struct check check_of(const char *json)
{
    struct check check;
    struct error err;
    json_error_t where;
    json_t *parsed = json_loads(json, 0, &where);
    if (!parsed)
        fail_msg("%s: %s", json, where.text);
    if (check_from_json("c", parsed, &check, &err) < 0)
        fail_msg("%s: %s", json, err.message);
    json_decref(parsed);
    return check;
}

/* Judges the check on the scope. Returns "passed: reason". */
static char *judged(const char *json, enum check_kind kind, const struct expr_scope *scope)
{
    struct check check = check_of(json);
    struct verdict verdict;
    check_evaluate(&check, kind, scope, &verdict);
    char *told = text_format("%s: %s", check_outcome_name(verdict.outcome), verdict.reason);
    verdict_fini(&verdict);
    check_fini(&check);
    return told;
}

static void assert_judged(const char *json, enum check_kind kind, const struct expr_scope *scope,
                          const char *expected)
{
    char *told = judged(json, kind, scope);
    if (!text_equal(told, expected))
        fail_msg("%s\n  gives     %s\n  expected  %s", json, told, expected);
    free(told);
}

/* Four refinement losses over 1000 steps, which end at 10, 8, 7 and 6. The gradient norm spikes at
 * the beginning. There is a validation every 100 steps. The first samples of the GPUs are idle. */
static struct metrics *training_new(void)
{
    struct metrics *metrics = metrics_new();
    static const double ends[] = {10, 8, 7, 6};
    for (int step = 1; step <= 1000; step++) {
        for (int loop = 0; loop < 4; loop++) {
            char name[] = "step_0";
            name[5] = (char)('0' + loop);
            metrics_add(metrics, name, step, 0.5 * step, ends[loop] + 0.001 * (1000 - step));
        }
        metrics_add(metrics, "grad_norm", step, 0.5 * step, step <= 100 ? 30 : 1);
        if (step % 100 == 0)
            metrics_add(metrics, "val_loss", step, 0.5 * step, 4 - 0.001 * step);
        if (step % 2 == 0)
            metrics_add(metrics, "gpu_util", step, 0.5 * step, step <= 360 ? 10 : 95);
    }
    metrics_add(metrics, "sick", 1, 1, 2);
    metrics_add(metrics, "sick", 2, 2, NAN);
    return metrics;
}

static void a_verdict_has_value_bounds_and_window(void **state)
{
    (void)state;
    struct metrics *metrics = training_new();
    struct expr_scope scope = {.own = {.metrics = metrics}};
    static const struct {
        const char *check, *expected;
    } cases[] = {
        {"{\"value\": \"100 * (mean(step_0) - mean(step_3)) / mean(step_0)\", \"at_least\": 15, "
         "\"over\": {\"steps\": 50}}",
         "passed: c 39.9022 is at least 15 (over the last 50 steps: 951..1000)"},
        {"{\"value\": \"100 * (mean(step_0) - mean(step_3)) / mean(step_0)\", \"at_least\": 50, "
         "\"over\": {\"steps\": 50}}",
         "failed: c 39.9022 is below 50 (over the last 50 steps: 951..1000)"},
        {"{\"condition\": \"last(step_0) > last(step_1) and last(step_1) > last(step_2)\"}",
         "passed: c holds: 10 > 8, 8 > 7 (steps 1..1000)"},
        {"{\"condition\": \"last(step_0) > last(step_1) and last(step_2) > last(step_1)\"}",
         "failed: c does not hold: 10 > 8, 7 > 8 (false) (steps 1..1000)"},
        {"{\"value\": \"p95(grad_norm)\", \"at_most\": 1.5, \"skip\": {\"steps\": 100}}",
         "passed: c 1 is at most 1.5 (steps 101..1000)"},
        {"{\"value\": \"p95(grad_norm)\", \"at_most\": 1.5}",
         "failed: c 30 is above 1.5 (steps 1..1000)"},
        {"{\"value\": \"slope(step_0)\", \"below\": 0, \"skip\": {\"steps\": 50}}",
         "passed: c -0.001 is below 0 (steps 51..1000)"},
        {"{\"value\": \"-slope(step_0)\", \"below\": 0}",
         "failed: c 0.001 is not below 0 (steps 1..1000)"},
        {"{\"value\": \"slope(step_0)\", \"above\": 0}",
         "failed: c -0.001 is not above 0 (steps 1..1000)"},
        {"{\"value\": \"last(step_3)\", \"at_least\": 1, \"below\": 6}",
         "failed: c 6 is not below 6 (steps 1..1000)"},
        {"{\"value\": \"last(step_3)\", \"above\": 5.5, \"at_most\": 6}",
         "passed: c 6 is at most 6 and above 5.5 (steps 1..1000)"},
        {"{\"value\": \"mean(gpu_util)\", \"at_least\": 80, \"over\": {\"seconds\": 120}, "
         "\"skip\": {\"seconds\": 180}}",
         "passed: c 95 is at least 80 (over the last 120 s: steps 762..1000)"},
        {"{\"value\": \"count(gpu_util)\", \"at_most\": 3, \"skip\": {\"seconds\": 180}}",
         "failed: c 321 is above 3 (steps 360..1000)"},
        {"{\"value\": \"count(val_loss)\", \"at_least\": 1, \"over\": {\"steps\": 250}}",
         "passed: c 3 is at least 1 (over the last 250 steps: 800..1000)"},
        /* the plateau of the cookbook */
        {"{\"value\": \"first(val_loss) - min(val_loss)\", \"at_least\": 0.02, "
         "\"over\": {\"steps\": 500}}",
         "passed: c 0.4 is at least 0.02 (over the last 500 steps: 600..1000)"},
        {"{\"value\": \"first(grad_norm) - min(grad_norm)\", \"at_least\": 0.02, "
         "\"over\": {\"steps\": 500}}",
         "failed: c 0 is below 0.02 (over the last 500 steps: 501..1000)"},
        {"{\"value\": \"3\", \"at_least\": 1}", "passed: c 3 is at least 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_judged(cases[i].check, CHECK_GATE, &scope, cases[i].expected);
    metrics_free(metrics);
}

static void missing_data_is_insufficient_and_neither_passes_nor_fails(void **state)
{
    (void)state;
    struct metrics *metrics = training_new();
    struct expr_scope scope = {.own = {.metrics = metrics}};
    static const struct {
        const char *check, *expected;
    } cases[] = {
        {"{\"value\": \"last(step_9)\", \"at_least\": 1}",
         "insufficient: c cannot be judged: step_9 never came (did you mean step_0?)"},
        {"{\"condition\": \"last(lss) > 1\"}", "insufficient: c cannot be judged: lss never came"},
        {"{\"value\": \"mean(step_0)\", \"at_least\": 1, \"skip\": {\"steps\": 1000}}",
         "insufficient: c cannot be judged: step_0 has no rows after the skipped rows"},
        {"{\"value\": \"slope(val_loss)\", \"below\": 0, \"over\": {\"steps\": 100}}",
         "insufficient: c cannot be judged: slope needs at least 2 rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_judged(cases[i].check, CHECK_GATE, &scope, cases[i].expected);
    metrics_free(metrics);
}

static void a_check_on_nan_never_passes(void **state)
{
    (void)state;
    struct metrics *metrics = training_new();
    struct expr_scope scope = {.own = {.metrics = metrics}};
    static const struct {
        const char *check, *expected;
    } cases[] = {
        {"{\"value\": \"mean(sick)\", \"at_most\": 5}",
         "failed: c NaN is not at most 5 (steps 1..2)"},
        {"{\"value\": \"mean(sick)\", \"above\": 5}", "failed: c NaN is not above 5 (steps 1..2)"},
        {"{\"condition\": \"sick < 5\"}", "failed: c does not hold: NaN < 5 (false) (steps 1..2)"},
        {"{\"condition\": \"not (sick > 5)\"}", "failed: c does not hold: NaN > 5 (false): a "
                                                "comparison with NaN never passes (steps 1..2)"},
        {"{\"value\": \"sick > 5 and 1 or 0\", \"at_most\": 0}",
         "failed: c 0 comes from a comparison with NaN: NaN > 5 (false) (steps 1..2)"},
        {"{\"value\": \"nan(sick)\", \"at_most\": 1}", "passed: c 1 is at most 1 (steps 1..2)"},
        {"{\"condition\": \"finite(sick)\"}", "failed: c does not hold (steps 1..2)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_judged(cases[i].check, CHECK_GATE, &scope, cases[i].expected);
    metrics_free(metrics);
}

/* Returns the first step at which the guard judges. Rows come at every `every`-th step from `begin`
 * on, two seconds a step. */
static int64_t first_judged_step(const char *json, int64_t begin, int64_t every)
{
    struct metrics *metrics = metrics_new();
    struct expr_scope scope = {.own = {.metrics = metrics}, .begin_step = begin > 1 ? begin : 0};
    struct check check = check_of(json);
    int64_t found = -1;
    for (int64_t step = begin; step < begin + 1000 && found < 0; step++) {
        if (step % every == 0)
            metrics_add(metrics, "m", step, 2.0 * (double)(step - begin), 30);
        struct verdict verdict;
        check_evaluate(&check, CHECK_GUARD, &scope, &verdict);
        if (verdict.outcome == CHECK_FAILED)
            found = step;
        else
            assert_int_equal(verdict.outcome, CHECK_INSUFFICIENT);
        verdict_fini(&verdict);
    }
    check_fini(&check);
    metrics_free(metrics);
    return found;
}

static void a_guard_waits_until_its_window_is_full(void **state)
{
    (void)state;
    static const struct {
        const char *window;
        int64_t begin, every, judged;
    } cases[] = {
        {"", 1, 1, 1},
        {", \"over\": {\"steps\": 10}", 1, 1, 10},
        {", \"over\": {\"steps\": 10}", 0, 1, 9},
        {", \"over\": {\"steps\": 10}", 901, 1, 910},
        {", \"over\": {\"steps\": 10}", 0, 10, 10},
        {", \"over\": {\"steps\": 25}", 0, 10, 30},
        {", \"over\": {\"steps\": 10}, \"skip\": {\"steps\": 20}", 1, 1, 30},
        {", \"skip\": {\"steps\": 20}", 1, 1, 21},
        {", \"skip\": {\"steps\": 20}", 900, 1, 921}, /* counts from where the run resumed */
        {", \"over\": {\"seconds\": 60}", 1, 1, 31},
        {", \"over\": {\"seconds\": 60}, \"skip\": {\"seconds\": 100}", 1, 1, 81},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *json = text_format("{\"value\": \"min(m)\", \"at_most\": 20%s}", cases[i].window);
        assert_int_equal(first_judged_step(json, cases[i].begin, cases[i].every), cases[i].judged);
        free(json);
    }
}

static void a_gate_judges_the_rows_that_are_there(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    struct expr_scope scope = {.own = {.metrics = metrics}};
    const char *check = "{\"value\": \"min(m)\", \"at_most\": 20, \"over\": {\"steps\": 10}}";
    metrics_add(metrics, "m", 3, 0, 5);
    assert_judged(check, CHECK_GATE, &scope,
                  "passed: c 5 is at most 20 (over the last 10 steps: 3..3)");
    assert_judged(check, CHECK_GUARD, &scope,
                  "insufficient: c cannot be judged: m does not fill its window yet");
    assert_judged("{\"value\": \"min(m)\", \"at_most\": 20, \"over\": {\"steps\": 1}}", CHECK_GATE,
                  &scope, "passed: c 5 is at most 20 (over the last 1 step: 3..3)");
    metrics_free(metrics);
}

/* A program may print any number as its step. */
static void the_largest_distance_of_steps_does_not_overflow(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    struct expr_scope scope = {.own = {.metrics = metrics}, .begin_step = INT64_MIN};
    metrics_add(metrics, "m", INT64_MIN, 0, 1);
    metrics_add(metrics, "m", INT64_MAX, 1, 2);
    assert_judged("{\"value\": \"count(m)\", \"at_least\": 1, \"over\": "
                  "{\"steps\": 9223372036854775807}, \"skip\": {\"steps\": 9223372036854775806}}",
                  CHECK_GATE, &scope,
                  "passed: c 1 is at least 1 (over the last 9223372036854775807 steps: "
                  "9223372036854775807..9223372036854775807)");
    metrics_free(metrics);
}

/* The steps of another phase may go much farther. */
static void the_window_is_that_of_the_judged_phase(void **state)
{
    (void)state;
    struct metrics *own = metrics_new(), *earlier = metrics_new();
    struct expr_names before = {.phase = "validate", .metrics = earlier};
    struct expr_scope scope = {.own = {.metrics = own}, .before = &before, .before_count = 1};
    static const struct {
        const char *check, *expected;
    } cases[] = {
        {"{\"value\": \"last(m) - last(validate.m)\", \"below\": 0}",
         "passed: c -1 is below 0 (steps 1..100)"},
        {"{\"value\": \"last(validate.m) - last(m)\", \"above\": 0}",
         "passed: c 1 is above 0 (steps 1..100)"},
        {"{\"value\": \"last(validate.m)\", \"below\": 9}",
         "passed: c 3 is below 9 (steps 1..200)"},
    };
    for (int64_t step = 1; step <= 200; step++) {
        metrics_add(earlier, "m", step, 0, 3);
        if (step <= 100)
            metrics_add(own, "m", step, 0, 2);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_judged(cases[i].check, CHECK_GATE, &scope, cases[i].expected);
    metrics_free(own);
    metrics_free(earlier);
}

static void a_check_that_cannot_be_evaluated_is_an_error(void **state)
{
    (void)state;
    json_t *params = json_pack("{s:s}", "preset", "extreme");
    struct expr_scope scope = {.own = {.params = params}};
    static const struct {
        const char *check, *expected;
    } cases[] = {
        {"{\"condition\": \"1 + 1\"}",
         "error: c cannot be judged: the condition must be true or false, not a number"},
        {"{\"condition\": \"preset\"}",
         "error: c cannot be judged: the condition must be true or false, not text"},
        {"{\"value\": \"1 > 2\", \"above\": 1}",
         "error: c cannot be judged: the value must be a number, not true or false"},
        {"{\"value\": \"preset * 2\", \"above\": 1}",
         "error: c cannot be judged: text is used where a number is needed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_judged(cases[i].check, CHECK_GATE, &scope, cases[i].expected);
    json_decref(params);
}

static void a_try_finds_errors_before_the_run(void **state)
{
    (void)state;
    struct expr_names before = {.phase = "validate"};
    struct expr_scope scope = {.before = &before, .before_count = 1};
    static const struct {
        const char *check, *expected;
    } cases[] = {
        {"{\"condition\": \"last(a) > last(b)\"}", NULL},
        {"{\"value\": \"slope(validate.a)\", \"below\": 0, \"over\": {\"steps\": 5}}", NULL},
        {"{\"condition\": \"last(a)\"}", "the condition must be true or false, not a number"},
        {"{\"value\": \"finite(a)\", \"below\": 0}",
         "the value must be a number, not true or false"},
        {"{\"condition\": \"later.a > 1\"}", "no phase before this one is called later"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct check check = check_of(cases[i].check);
        struct error err;
        assert_int_equal(check_try(&check, &scope, &err), cases[i].expected ? -EINVAL : 0);
        if (cases[i].expected)
            assert_string_equal(err.message, cases[i].expected);
        check_fini(&check);
    }
}

static void a_check_that_only_warns_does_not_fail_the_gate(void **state)
{
    (void)state;
    static const struct {
        const char *check;
        bool is_failure;
    } cases[] = {
        {"{\"condition\": \"1 > 2\"}", true},
        {"{\"condition\": \"1 > 2\", \"else\": \"fail\"}", true},
        {"{\"condition\": \"1 > 2\", \"else\": \"warn\"}", false},
        {"{\"condition\": \"never_came > 2\"}", true},
        {"{\"condition\": \"never_came > 2\", \"else\": \"warn\"}", false},
        {"{\"condition\": \"2 > 1\"}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct check check = check_of(cases[i].check);
        struct expr_scope scope = {.before_count = 0};
        struct verdict verdict;
        check_evaluate(&check, CHECK_GATE, &scope, &verdict);
        assert_int_equal(verdict_is_failure(&verdict), cases[i].is_failure);
        verdict_fini(&verdict);
        check_fini(&check);
    }
}

static void a_check_that_no_spec_has_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "[]",
        "{}",
        "{\"condition\": \"1 > 2\", \"value\": \"1\"}",
        "{\"value\": \"1\", \"above\": \"1\"}",
        "{\"value\": \"1\", \"atleast\": 1}",
        "{\"condition\": \"true\", \"over\": {\"epochs\": 1}}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct check check;
        json_t *json = json_loads(cases[i], 0, NULL);
        assert_int_equal(check_from_json("c", json, &check, NULL), -EINVAL);
        json_decref(json);
    }
}

static void a_verdict_survives_json(void **state)
{
    (void)state;
    static const double values[] = {12.25, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct verdict verdict = {.name = text_format("refinement"),
                                  .outcome = CHECK_FAILED,
                                  .warn = i == 1,
                                  .has_value = true,
                                  .value = values[i],
                                  .bounds = text_format("at least 15"),
                                  .has_window = i > 0,
                                  .first_step = 951,
                                  .last_step = 1000,
                                  .rows = 50,
                                  .reason = text_format(i ? "because \xc3\xa9" : "because"),
                                  .advice = i ? text_format("try \"more\"") : NULL};
        struct verdict again;
        struct error err;
        json_t *json = verdict_to_json(&verdict);
        char *dumped = json_dumps(json, 0);
        json_t *loaded = json_loads(dumped, 0, NULL);
        assert_int_equal(verdict_from_json(loaded, &again, &err), 0);
        json_t *json_again = verdict_to_json(&again);
        assert_true(json_equal(json, json_again));
        assert_true(isnan(values[i]) ? isnan(again.value) : again.value == values[i]);
        assert_int_equal(verdict_is_failure(&again), i != 1);
        assert_string_equal(again.name, "refinement");
        assert_string_equal(again.bounds, "at least 15");
        assert_string_equal(again.reason, i ? "because \xc3\xa9" : "because");
        assert_int_equal(again.has_window, i > 0);
        assert_int_equal(again.rows, i ? 50 : 0);
        json_decref(json_again);
        json_decref(loaded);
        json_decref(json);
        free(dumped);
        verdict_fini(&again);
        verdict_fini(&verdict);
    }
}

/* Programs choose the names of metrics. */
static void a_reason_that_is_not_utf8_is_kept(void **state)
{
    (void)state;
    char reason[] = "lo\xffs never came";
    struct verdict verdict = {.name = "c", .bounds = "", .reason = reason};
    json_t *json = verdict_to_json(&verdict);
    assert_string_equal(json_string_value(json_object_get(json, "reason")), "lo?s never came");
    json_decref(json);
}

static void only_a_verdict_is_read_as_a_verdict(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{}",
        "{\"name\": \"a\", \"outcome\": \"maybe\", \"warn\": false, \"value\": null, "
        "\"bounds\": \"\", \"window\": null, \"reason\": \"\"}",
        "{\"name\": \"a\", \"outcome\": \"passed\", \"warn\": false, \"value\": \"x\", "
        "\"bounds\": \"\", \"window\": null, \"reason\": \"\"}",
        "{\"name\": \"a\", \"outcome\": \"passed\", \"warn\": false, \"value\": null, "
        "\"bounds\": \"\", \"window\": {}, \"reason\": \"\"}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verdict verdict;
        struct error err;
        json_t *json = json_loads(cases[i], 0, NULL);
        assert_int_equal(verdict_from_json(json, &verdict, &err), -EINVAL);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_has_value_bounds_and_window),
        cmocka_unit_test(missing_data_is_insufficient_and_neither_passes_nor_fails),
        cmocka_unit_test(a_check_on_nan_never_passes),
        cmocka_unit_test(a_guard_waits_until_its_window_is_full),
        cmocka_unit_test(a_gate_judges_the_rows_that_are_there),
        cmocka_unit_test(the_largest_distance_of_steps_does_not_overflow),
        cmocka_unit_test(the_window_is_that_of_the_judged_phase),
        cmocka_unit_test(a_check_that_cannot_be_evaluated_is_an_error),
        cmocka_unit_test(a_try_finds_errors_before_the_run),
        cmocka_unit_test(a_check_that_only_warns_does_not_fail_the_gate),
        cmocka_unit_test(a_check_that_no_spec_has_is_refused),
        cmocka_unit_test(a_verdict_survives_json),
        cmocka_unit_test(a_reason_that_is_not_utf8_is_kept),
        cmocka_unit_test(only_a_verdict_is_read_as_a_verdict),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
