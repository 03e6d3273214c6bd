/* Expressions: what they mean. The tables are the language by example. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/expr/expr.h"
#include "lib/expr/function.h"
#include "lib/expr/metrics.h"
#include "lib/file.h"
#include "lib/text.h"
#include "tests/unit/expr_case.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A phase `validate` that comes before, and a phase with every kind of metric. */
struct world {
    struct metrics *own, *validate;
    json_t *params, *validate_params, *facts;
    struct expr_names before;
    struct expr_scope scope;
};

static void add_rows(struct metrics *metrics, const char *name, int64_t step, size_t count,
                     const double *values)
{
    for (size_t i = 0; i < count; i++)
        metrics_add(metrics, name, step + (int64_t)i, 10.0 * (double)i, values[i]);
}

static int world_new(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    world->own = metrics_new();
    world->validate = metrics_new();
    add_rows(world->own, "loss", 1, 5, (double[]){9, 7, 5, 4, 2});
    add_rows(world->own, "late", 4, 4, (double[]){1, 2, 3, 4});
    add_rows(world->own, "holed", 1, 3, (double[]){1, NAN, 3});
    add_rows(world->own, "last_nan", 1, 2, (double[]){1, NAN});
    add_rows(world->own, "infinite", 1, 2, (double[]){1, INFINITY});
    add_rows(world->own, "one", 7, 1, (double[]){3});
    add_rows(world->own, "mean", 1, 2, (double[]){4, 6});
    for (int i = 0; i < 100; i++)
        metrics_add(world->own, "spiky", i, 0, (i % 2 ? 1.1 : 0.9) + (i == 50 ? 5 : 0));
    for (int i = 0; i < 100; i++)
        metrics_add(world->own, "flat", i, 0, 0.1 + 0.2);
    for (int i = 1; i <= 100; i++)
        metrics_add(world->own, "hundred", 101 - i, 0, i);
    add_rows(world->validate, "loss", 100, 2, (double[]){3, 2.5});
    world->params =
        json_pack("{s:i, s:f, s:s, s:b, s:i, s:I, s:I, s:I, s:n}", "depth", 16, "lr", 0.001,
                  "preset", "extreme", "compile", 1, "loss_weight", 2, "seed", (json_int_t)1 << 60,
                  "largest", ((json_int_t)1 << 53) - 1, "larger", (json_int_t)1 << 53, "nothing");
    world->validate_params = json_pack("{s:i}", "depth", 12);
    world->facts = json_pack("{s:f, s:i}", "elapsed", 90.5, "step", 5);
    world->before = (struct expr_names){
        .phase = "validate", .params = world->validate_params, .metrics = world->validate};
    world->scope = (struct expr_scope){
        .own = {.params = world->params, .facts = world->facts, .metrics = world->own},
        .before = &world->before,
        .before_count = 1};
    *state = world;
    return 0;
}

static int world_free(void **state)
{
    struct world *world = *state;
    metrics_free(world->own);
    metrics_free(world->validate);
    json_decref(world->params);
    json_decref(world->validate_params);
    json_decref(world->facts);
    free(world);
    return 0;
}

static void operators_are_those_of_lua(void **state)
{
    static const struct expr_case cases[] = {
        {"1 + 2 * 3", "7"},
        {"(1 + 2) * 3", "9"},
        {"-2 ^ 2", "-4"},
        {"2 ^ 3 ^ 2", "512"},
        {"2 ^ -1", "0.5"},
        {"7 // 2", "3"},
        {"-7 // 2", "-4"},
        {"7 % 4", "3"},
        {"-7 % 4", "1"},
        {"7 % -4", "-1"},
        {"-1e-200 % 1.5e-200", "5e-201"},
        {"2 ^ -3 * 4", "0.5"},
        {"2 ^ - 1 ^ 2", "0.5"},
        {"8 - 4 - 2 * 3 % 4", "2"},
        {"7 / 2", "3.5"},
        {"- - 3", "3"},
        {"1 / 0", "inf"},
        {".5 + 5. + 1e-1 + 0x10", "21.6"},
        {"1 < 2", "true"},
        {"1 >= 2", "false"},
        {"1 ~= 2", "true"},
        {"1 + 1 == 2", "true"},
        {"true and not false", "true"},
        {"not (1 == 1)", "false"},
        {"depth > 8 and 32 or 64", "32"},
        {"depth < 8 and 32 or 64", "64"},
        {"1 < 2 and 2 < 3 or 1 > 2", "true"},
        {"'a' == \"a\"", "true"},
        {"preset == 'extreme'", "true"},
        {"preset ~= 'extreme'", "false"},
        {"preset", "'extreme'"},
        {"compile", "true"},
        {"compile and 2 or 1", "2"},
        {"false or false and true or 3", "3"},
        {"true and (false or 'a') or 4", "'a'"},
        {"(compile and 2) or 1", "2"},
        {"(depth < 8 and 1 or depth < 32 and 2) or 3", "2"},
        {"not not true", "true"},
        {"max(1, 2, 3) == min(3, 4)", "true"},
        {"(1 < 2) == (3 < 4)", "true"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void large_products_do_not_wrap(void **state)
{
    static const struct expr_case cases[] = {
        {"6 * 1500000000 * 30000000000 * 1000", "2.7e+23"},
        {"9223372036854775807 + 1", "9.22337e+18"},
        {"depth * 1000000000000 * 1000000000000", "1.6e+25"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void a_series_means_its_newest_value_where_a_number_is_needed(void **state)
{
    static const struct expr_case cases[] = {
        {"loss", "2"},
        {"loss < 3", "true"},
        {"3 > loss", "true"},
        {"loss == 2", "true"},
        {"loss ~= 2", "false"},
        {"2 == loss", "true"},
        {"loss == late - 2", "true"},
        {"(loss) == (2)", "true"},
        {"loss + 1", "3"},
        {"loss_weight * loss", "4"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void arithmetic_on_series_goes_step_by_step(void **state)
{
    static const struct expr_case cases[] = {
        {"sum(loss - 1)", "22"},
        {"sum(1 - loss)", "-22"},
        {"sum(loss / 2)", "13.5"},
        {"sum(2 ^ (loss - loss))", "5"},
        {"sum(-loss)", "-27"},
        {"sum(loss % 2)", "3"},
        {"sum(loss // 2)", "12"},
        {"count(loss + late)", "2"}, /* steps 4 and 5 */
        {"first(loss + late)", "5"},
        {"last(loss * late)", "4"},
        {"min(loss - late)", "0"},
        {"sum(abs(loss - 5))", "10"},
        {"sum(sqrt(loss - loss + 4))", "10"},
        {"last(log(exp(loss)))", "2"},
        {"sum(max(loss, 5))", "31"},
        {"sum(min(loss, 5, 3 + late))", "6"},
        {"loss + one", "insufficient: the metrics have no step in common"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void functions_reduce_a_series_to_a_number(void **state)
{
    static const struct expr_case cases[] = {
        {"first(loss)", "9"},
        {"last(loss)", "2"},
        {"min(loss)", "2"},
        {"max(loss)", "9"},
        {"mean(loss)", "5.4"},
        {"median(loss)", "5"},
        {"median(late)", "2.5"},
        {"sum(loss)", "27"},
        {"count(loss)", "5"},
        {"stddev(late)", "1.11803"},
        {"stddev(one)", "0"},
        {"slope(loss)", "-1.7"},
        {"slope(late)", "1"},
        {"slope(hundred)", "-1"},
        {"slope(one)", "insufficient: slope needs at least 2 rows"},
        {"p50(hundred)", "50.5"},
        {"p05(hundred)", "5.95"},
        {"p95(hundred)", "95.05"},
        {"p99(one)", "3"},
        {"spikes(spiky)", "1"},
        {"spikes(flat)", "0"},
        {"spikes(hundred)", "0"},
        {"spikes(one)", "0"},
        {"finite(loss)", "true"},
        {"nan(loss)", "0"},
        {"mean(4)", "4"},
        {"count(4)", "1"},
        {"mean(mean)", "5"}, /* a metric may have the name of a function */
        {"mean (loss)", "5.4"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void nan_is_never_lost(void **state)
{
    static const struct expr_case cases[] = {
        {"mean(holed)", "NaN"},
        {"median(holed)", "NaN"},
        {"p95(holed)", "NaN"},
        {"min(holed)", "NaN"},
        {"max(holed)", "NaN"},
        {"sum(holed)", "NaN"},
        {"stddev(holed)", "NaN"},
        {"slope(holed)", "NaN"},
        {"spikes(holed)", "NaN"},
        {"max(0, last_nan)", "NaN"},
        {"min(last_nan, 0)", "NaN"},
        {"count(holed)", "3"},
        {"nan(holed)", "1"},
        {"finite(holed)", "false"},
        {"finite(infinite)", "false"},
        {"nan(infinite)", "0"},
        {"max(infinite)", "inf"},
        {"last(holed)", "3"},
        {"last(last_nan)", "NaN"},
        {"last_nan < 5", "false with nan"},
        {"not (last_nan > 5)", "true with nan"},
        {"last_nan ~= 5", "true with nan"},
        {"nan(holed) == 0 or loss < 5", "true"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void names_can_be_params_facts_and_those_of_earlier_phases(void **state)
{
    static const struct expr_case cases[] = {
        {"depth", "16"},
        {"validate.depth", "12"},
        {"last(validate.loss)", "2.5"},
        {"validate.loss - loss > 0", "insufficient: the metrics have no step in common"},
        {"elapsed <= 3600", "true"},
        {"step", "5"},
        {"lss", "insufficient: lss never came (did you mean loss?)"},
        {"gpu_util", "insufficient: gpu_util never came"},
        {"nothing", "insufficient: nothing never came"},
        {"validate.lss", "insufficient: validate.lss never came (did you mean loss?)"},
        {"validat.loss", "insufficient: no phase before this one is called validat"},
        {"true or lss", "true"},
        {"largest - 2 ^ 53", "-1"},
        {"larger", "error: larger is too large to compute with: 9007199254740992"},
        {"seed", "error: seed is too large to compute with: 1152921504606846976"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void wrong_types_are_reported(void **state)
{
    static const struct expr_case cases[] = {
        {"preset + 1", "error: text is used where a number is needed"},
        {"loss + preset", "error: text is used where a number is needed"},
        {"compile * loss", "error: true or false is used where a number is needed"},
        {"mean(preset)", "error: text is used where a number is needed"},
        {"max(1, preset)", "error: text is used where a number is needed"},
        {"preset == 5", "error: compares text with a number"},
        {"loss == preset", "error: compares a number with text"},
        {"compile == 1", "error: compares true or false with a number"},
        {"preset < 'z'", "error: text cannot be less or greater"},
        {"-preset", "error: text is used where a number is needed"},
        {"not depth", "error: not needs true or false, not a number: write a comparison"},
        {"not loss", "error: not needs true or false, not a metric: write a comparison"},
        {"not preset", "error: not needs true or false, not text: write a comparison"},
        {"not (compile and 1)", "error: not needs true or false, not a number: write a comparison"},
        {"depth and 1 or 2", "error: and needs true or false, not a number: write a comparison"},
        {"(compile and 1) and true",
         "error: and needs true or false, not a number: write a comparison"},
        {"preset or 'mild'", "error: or needs true or false, not text: write a comparison"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void whole_results_of_params_stay_whole(void **state)
{
    const struct expr_scope *scope = &((struct world *)*state)->scope;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"16 / 2", "8"},
        {"depth * 2", "32"},
        {"10 * lr", "0.01"},
        {"8 * 32 * 2", "512"},
        {"0.1 + 0.2", "0.30000000000000004"},
        {"3e-4 * sqrt(512 / 128) == 6e-4", "true"}, /* jansson prints it in two ways */
        {"2 ^ 53 - 1", "9007199254740991"},
        {"2 ^ 53 + 1", "9007199254740992.0"}, /* a double does not hold this number */
        {"2 ^ 60", "1.152921504606847e18"},
        {"-0 * 1", "0"},
        {"preset", "\"extreme\""},
        {"depth > 3", "true"},
        {"validate.depth + depth", "28"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = NULL;
        struct error err = {0};
        if (expr_compute(cases[i].text, scope, &value, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.message);
        char *told = json_dumps(value, JSON_ENCODE_ANY);
        assert_string_equal(told, cases[i].expected);
        free(told);
        json_decref(value);
    }
    json_t *value = NULL;
    struct error err;
    assert_int_equal(expr_compute("1 / 0", scope, &value, &err), -EINVAL);
    assert_string_equal(err.message, "the result is inf");
    assert_int_equal(expr_compute("0 / 0", scope, &value, &err), -EINVAL);
    assert_int_equal(expr_compute("width * 2", scope, &value, &err), -ENODATA);
    assert_null(value);
}

static void names_are_listed_once_with_their_columns(void **state)
{
    (void)state;
    struct expr_name *names;
    struct error err;
    assert_int_equal(expr_list_names("mean(step_0) + validate.loss / step_0 + mean", &names, &err),
                     3);
    assert_string_equal(names[0].name, "step_0");
    assert_int_equal(names[0].column, 6);
    assert_string_equal(names[1].phase, "validate");
    assert_string_equal(names[1].name, "loss");
    assert_int_equal(names[1].column, 16);
    assert_string_equal(names[2].name, "mean");
    free(names);
    assert_int_equal(expr_list_names("1 +", &names, &err), -EINVAL);
}

static void comparisons_are_kept_for_the_report(void **state)
{
    const struct expr_scope *scope = &((struct world *)*state)->scope;
    static const struct expr_case cases[] = {
        {"loss < 3 and late > 1", "2 < 3, 4 > 1"},
        {"loss > 3 and late > 1", "2 > 3 (false)"},
        {"loss > 3 or late + 1 == 5", "2 > 3 (false), 5 == 5"},
        {"max(loss) > 5 and (first(late) <= 1 or loss == 2)", "9 > 5, 1 <= 1"},
        {"preset == 'extreme'", ""},
        {"last_nan < 1", "NaN < 1 (false)"},
        {"(1 < 2 and 3 or 4) > (5 < 6 and 7 or 8)", "1 < 2, 5 < 6, 3 > 7 (false)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expr_result result;
        assert_int_equal(expr_evaluate(cases[i].text, scope, &result, NULL), 0);
        assert_string_equal(text_string(&result.comparisons), cases[i].expected);
        expr_result_fini(&result);
    }
}

static void made_up_rows_find_wrong_types_before_there_is_data(void **state)
{
    struct expr_scope scope = ((struct world *)*state)->scope;
    scope.own.metrics = NULL;
    scope.invent_metrics = true;
    static const struct expr_case cases[] = {
        {"last(anything) > 1 and slope(other) < 0", "true"},
        {"anything + preset", "error: text is used where a number is needed"},
        {"validate.anything > 0", "true"},
        {"production.loss", "insufficient: no phase before this one is called production"},
    };
    ASSERT_CASES(&scope, cases);
}

/* Made-up rows are 2.0, 1.9 ... 1.1 at the steps 1 to 10. */
static void the_checks_of_training_guides_can_be_written(void **state)
{
    (void)state;
    json_t *params = json_pack("{s:i, s:i, s:i, s:f, s:i}", "BATCH_SIZE", 256, "GRAD_ACCUM", 2,
                               "device_batch_size", 32, "matrix_lr", 0.001, "iterations", 1000);
    json_t *facts = json_pack("{s:f, s:i}", "elapsed", 1800.0, "step", 500);
    struct expr_names before = {.phase = "generate"};
    struct expr_scope scope = {.own = {.params = params, .facts = facts},
                               .before = &before,
                               .before_count = 1,
                               .invent_metrics = true};
    static const struct expr_case cases[] = {
        {"elapsed <= 3600", "true"},
        {"elapsed / step * iterations / 3600 <= 18", "true"}, /* projected hours */
        {"first(dt) / median(dt) >= 5", "false"},             /* compiled at the first step? */
        {"p05(grad_norm) >= 0.5 and p95(grad_norm) <= 1.5", "false"},
        {"stddev(grad_norm) / mean(grad_norm)", "0.185308"},
        {"slope(loss) < 0 and spikes(loss) <= 3", "true"},
        {"100 * last(valid) / last(total)", "100"},
        {"100.0 * valid / total >= 95", "true"},
        {"min(val_loss) <= 3.0781 and elapsed <= 5400", "true"},
        {"max(gpu_mem_gb) < 120 and mean(gpu_util) >= 80", "false"},
        {"min(last(val_bpb), last(generate.val_bpb))", "1.1"},
        {"mean(tokens_per_s) / mean(generate.tokens_per_s)", "1"},
        {"nan(loss) == 0 and finite(grad_norm)", "true"},
        {"10 * matrix_lr", "0.01"},
        {"3e-4 * sqrt(BATCH_SIZE * GRAD_ACCUM / 128)", "0.0006"},
        {"device_batch_size / 2", "16"},
        {"8 * device_batch_size * GRAD_ACCUM", "512"},
        {"BATCH_SIZE <= 128 and 3e-4 or BATCH_SIZE <= 256 and 4e-4 or 5e-4", "0.0004"},
    };
    ASSERT_CASES(&scope, cases);
    json_decref(params);
    json_decref(facts);
}

static void the_manual_has_every_function(void **state)
{
    (void)state;
    const char *source = getenv("SRC");
    char *path = text_format("%s/doc/man/phased-spec.5", source ? source : "."), *manual;
    struct error err;
    if (file_read(path, 1 << 20, &manual, NULL, &err) < 0)
        fail_msg("%s: %s", path, err.message);
    for (size_t i = 0; i < function_count; i++) {
        const struct function *function = &functions[i];
        char *entry = text_format("\n.It Li %s(%s)\n%s\n", function->name, function->arguments,
                                  function->help);
        if (!strstr(manual, entry))
            fail_msg("%s lacks:%s", path, entry);
        free(entry);
    }
    free(manual);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_those_of_lua),
        cmocka_unit_test(large_products_do_not_wrap),
        cmocka_unit_test(a_series_means_its_newest_value_where_a_number_is_needed),
        cmocka_unit_test(arithmetic_on_series_goes_step_by_step),
        cmocka_unit_test(functions_reduce_a_series_to_a_number),
        cmocka_unit_test(nan_is_never_lost),
        cmocka_unit_test(names_can_be_params_facts_and_those_of_earlier_phases),
        cmocka_unit_test(wrong_types_are_reported),
        cmocka_unit_test(whole_results_of_params_stay_whole),
        cmocka_unit_test(names_are_listed_once_with_their_columns),
        cmocka_unit_test(comparisons_are_kept_for_the_report),
        cmocka_unit_test(the_checks_of_training_guides_can_be_written),
        cmocka_unit_test(made_up_rows_find_wrong_types_before_there_is_data),
        cmocka_unit_test(the_manual_has_every_function),
    };
    return cmocka_run_group_tests_name("expr", tests, world_new, world_free);
}
