/* Expressions: what they mean, what they refuse and where, what hostile ones cannot do. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/expr/expr.h"
#include "lib/expr/metrics.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A phase `validate` before, and an own phase with every kind of metric. */
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
    world->params = json_pack("{s:i, s:f, s:s, s:b, s:i, s:I, s:n}", "depth", 16, "lr", 0.001,
                              "preset", "extreme", "compile", 1, "loss_weight", 2, "seed",
                              (json_int_t)1 << 60, "nothing");
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

/* "15", "true", "'text'", or "insufficient: reason", "column 3: reason". */
static char *evaluated(const struct expr_scope *scope, const char *text)
{
    struct expr_result result;
    struct error err;
    int code = expr_evaluate(text, scope, &result, &err);
    char *told = NULL;
    if (code == -ENODATA)
        return text_format("insufficient: %s", err.message);
    if (code < 0 && err.line)
        return text_format("column %u: %s", err.column, err.message);
    if (code < 0)
        return text_format("%s: %s", code == -E2BIG ? "limit" : "error", err.message);
    if (result.type == EXPR_BOOLEAN)
        told = text_format("%s%s", result.boolean ? "true" : "false",
                           result.nan_compared ? " with nan" : "");
    else if (result.type == EXPR_STRING)
        told = text_format("'%s'", result.string);
    else
        told = text_format("%s", expr_number_text(result.number).data);
    expr_result_fini(&result);
    return told;
}

struct expr_case {
    const char *text;
    const char *expected;
};

static void assert_cases(const struct expr_scope *scope, const struct expr_case *cases,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *told = evaluated(scope, cases[i].text);
        if (!text_equal(told, cases[i].expected))
            fail_msg("%s\n  gives     %s\n  expected  %s", cases[i].text, told, cases[i].expected);
        free(told);
    }
}

#define ASSERT_CASES(scope, cases) assert_cases(scope, cases, sizeof(cases) / sizeof *(cases))

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
        {"loss + one", "insufficient: metrics are combined that share no step"},
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
        {"slope(one)", "insufficient: slope needs two rows at least"},
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
        {"mean(mean)", "5"}, /* a metric may be named like a function */
        {"mean (loss)", "5.4"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void nan_is_never_lost_on_the_way(void **state)
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

static void names_reach_params_facts_and_phases_before(void **state)
{
    static const struct expr_case cases[] = {
        {"depth", "16"},
        {"validate.depth", "12"},
        {"last(validate.loss)", "2.5"},
        {"validate.loss - loss > 0", "insufficient: metrics are combined that share no step"},
        {"elapsed <= 3600", "true"},
        {"step", "5"},
        {"lss", "insufficient: lss never came (did you mean loss?)"},
        {"gpu_util", "insufficient: gpu_util never came"},
        {"nothing", "insufficient: nothing never came"},
        {"validate.lss", "insufficient: validate.lss never came (did you mean loss?)"},
        {"validat.loss", "insufficient: validat is no phase before this one"},
        {"true or lss", "true"},
        {"seed", "error: seed is too large to compute with: 1152921504606846976"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void wrong_types_are_told(void **state)
{
    static const struct expr_case cases[] = {
        {"preset + 1", "error: cannot compute with a string value"},
        {"loss + preset", "error: text stands where a number is needed"},
        {"compile * loss", "error: true or false stands where a number is needed"},
        {"mean(preset)", "error: text stands where a number is needed"},
        {"max(1, preset)", "error: text stands where a number is needed"},
        {"preset == 5", "error: compares text with a number"},
        {"loss == preset", "error: compares a number with text"},
        {"compile == 1", "error: compares true or false with a number"},
        {"preset < 'z'", "error: text cannot be less or greater"},
        {"-preset", "error: cannot compute with a string value"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void wrong_syntax_is_told_with_its_column(void **state)
{
    static const struct expr_case cases[] = {
        {"", "column 1: the expression is empty"},
        {"  ", "column 3: the expression is empty"},
        {"1 +", "column 4: a value is missing at the end"},
        {"1 + * 2", "column 5: a value is missing before '*'"},
        {"3 4", "column 3: an operator is missing before '4'"},
        {"50 steps", "column 4: an operator is missing before 'steps'"},
        {"depth (3)", "column 1: there is no function depth"},
        {"(loss)(3)", "column 7: an operator is missing before '('"},
        {"mean(loss", "column 1: the parenthesis is not closed"},
        {"1 + (2 * 3", "column 5: the parenthesis is not closed"},
        {"loss)", "column 5: ')' without a '(' before it"},
        {"(1, 2)", "column 3: a comma outside of a function's arguments"},
        {"1, 2", "column 2: a comma outside of a function's arguments"},
        {"mean()", "column 6: a value is missing before ')'"},
        {"mean(loss, 5)", "column 1: mean takes 1 argument, not 2"},
        {"1 + meen(loss)", "column 5: there is no function meen (did you mean mean?)"},
        {"p100(loss)", "column 1: there is no function p100 (did you mean p01 .. p99?)"},
        {"p00(loss)", "column 1: there is no function p00 (did you mean p01 .. p99?)"},
        {"0 < loss < 5",
         "column 10: a second comparison: write a < b and b < c instead of a < b < c"},
        {"1 + 1 == 2 == 3",
         "column 12: a second comparison: write a < b and b < c instead of a < b < c"},
        {"not loss > 5", "column 1: not binds closer than >: write not (a > b)"},
        {"loss != 3", "column 6: unexpected '!=': unequal is written ~="},
        {"a && b", "column 3: unexpected '&&': write and"},
        {"a || b", "column 3: unexpected '||': write or"},
        {"a = 3", "column 3: unexpected '=': equality is written =="},
        {"2 ** 3", "column 3: unexpected '**': a power is written ^"},
        {"$depth", "column 1: unexpected '$': in an expression names stand bare, without $"},
        {"a ? b : c", "column 3: unexpected '?'"},
        {"1 \xe2\x89\xa4 2", "column 3: unexpected '\xe2\x89\xa4'"},
        {"1 \xff 2", "column 3: unexpected byte 0xff"},
        {"1 \x01 2", "column 3: unexpected byte 0x01"},
        {"1e999", "column 1: the number is too large"},
        {"1.2.3", "column 1: '1.2.3' is no number"},
        {"3x", "column 1: '3x' is no number"},
        {"'abc", "column 1: the text is not closed by '"},
        {"'a\\'b'", "column 3: text cannot hold escapes or control bytes"},
        {"validate.", "column 9: after 'validate.' a name must come"},
        {"validate.loss.x", "column 14: only phase.name can be written"},
        {"a.5", "column 2: after 'a.' a name must come"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

static void hostile_text_gets_nowhere(void **state)
{
    static const struct expr_case cases[] = {
        {"(function() while true do end end)()",
         "column 2: 'function' is a word of Lua without meaning here"},
        {"while true do end", "column 1: 'while' is a word of Lua without meaning here"},
        {"goto x", "column 1: 'goto' is a word of Lua without meaning here"},
        {"::x::", "column 1: unexpected ':': there are no methods here"},
        {"return 1", "column 1: 'return' is a word of Lua without meaning here"},
        {"1 end return 2", "column 3: 'end' is a word of Lua without meaning here"},
        {"1; 2", "column 2: unexpected ';': an expression is one value, not statements"},
        {"x = 1", "column 3: unexpected '=': equality is written =="},
        {"local x", "column 1: 'local' is a word of Lua without meaning here"},
        {"('x'):rep(1e9)", "column 6: unexpected ':': there are no methods here"},
        {"'x' .. 'y'",
         "column 5: unexpected '..': text is put together outside of expressions, with $name"},
        {"{}", "column 1: unexpected '{': there are no tables here"},
        {"loss['__index']", "column 5: unexpected '[': there are no tables here"},
        {"[[x]]", "column 1: unexpected '[': there are no tables here"},
        {"#loss", "column 1: unexpected '#'"},
        {"~1", "column 1: unexpected '~'"},
        {"1 << 62", "column 3: unexpected '<<': there are no bits here"},
        {"1 -- 2",
         "column 3: unexpected '--': that begins a comment in Lua; put a space or a parenthesis "
         "between"},
        {"nil", "column 1: 'nil' is a word of Lua without meaning here"},
        {"_G", "insufficient: _G never came"},
        {"_ENV", "insufficient: _ENV never came"},
        {"_G.os", "insufficient: _G is no phase before this one"},
        {"os.exit(1)", "column 8: only phase.name can be written"},
        {"__name(1)", "column 1: names cannot begin with two underscores"},
        {"__call_0(1)", "column 1: names cannot begin with two underscores"},
        {"getmetatable(loss)", "column 1: there is no function getmetatable"},
        {"setmetatable(loss)", "column 1: there is no function setmetatable"},
        {"load('x')", "column 1: there is no function load (did you mean log?)"},
        {"error('x')", "column 1: there is no function error"},
        {"pcall(mean)", "column 1: there is no function pcall"},
        {"coroutine.wrap(loss)", "column 15: only phase.name can be written"},
        {"mean'x'", "column 5: an operator is missing before '''"},
        {"\x1bLua", "column 1: unexpected byte 0x1b"},
        {"999999999999999999999 ^ 999999", "inf"},
    };
    ASSERT_CASES(&((struct world *)*state)->scope, cases);
}

/* `piece` repeated `count` times between a beginning and an end. */
static char *repeated(const char *begin, const char *piece, size_t count, const char *end)
{
    struct text text = {0};
    text_add(&text, begin);
    for (size_t i = 0; i < count; i++)
        text_add(&text, piece);
    text_add(&text, end);
    return text_steal(&text);
}

static void depth_and_size_are_bounded(void **state)
{
    const struct expr_scope *scope = &((struct world *)*state)->scope;
    const struct {
        const char *begin, *piece;
        size_t count;
        const char *end, *expected;
    } cases[] = {
        {"", "(", 50, "1", "column 50: the parenthesis is not closed"},
        {"", "(", 61, "1", "column 61: more than 60 parentheses deep"},
        {"", "mean(", 8000 / 5, "", "column 301: more than 60 parentheses deep"},
        {"", "1+", 4000, "1", "4001"},
        {"", "- ", 4000, "1", NULL},
        {"", "not ", 2000, "true", NULL},
        {"1", "^1", 4000, "", NULL},
        {"", "1 == 1 and ", 700, "true", "true"},
        {"max(1", ",1", 15, ")", "1"},
        {"max(1", ",1", 16, ")", "column 1: max takes 16 arguments at most, not 17"},
        {"", "1 ", 70000, "", "column 1: an expression of more than 8192 bytes"},
        {"", "a", 129, "", "column 1: a name of more than 128 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated(cases[i].begin, cases[i].piece, cases[i].count, cases[i].end);
        char *told = evaluated(scope, text);
        if (cases[i].expected)
            assert_string_equal(told, cases[i].expected);
        else
            assert_true(text_starts(told, "error: is nested too deeply or too long"));
        free(told);
        free(text);
    }
}

static void work_and_memory_are_bounded(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    for (int i = 0; i < 1000000; i++)
        metrics_add(metrics, "m", i, i, i);
    struct expr_scope scope = {.own = {.metrics = metrics}};
    char *much_work = repeated("sum(m)", " + sum(m)", 200, "");
    char *much_memory = repeated("m", " + (m", 20, "))))))))))))))))))))");
    const struct expr_case cases[] = {
        {much_work, "limit: takes too long: more than 100000000 rows to go through"},
        {much_memory, "limit: needs too much memory"},
        {"sum(m - m + m - m)", "0"},
    };
    ASSERT_CASES(&scope, cases);
    free(much_work);
    free(much_memory);
    metrics_free(metrics);
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
        {"3e-4 * sqrt(512 / 128)", "0.00059999999999999995"},
        {"2 ^ 53", "9007199254740992"},
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

static void the_free_names_are_listed_once_with_their_columns(void **state)
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

static void comparisons_made_are_kept_for_the_report(void **state)
{
    const struct expr_scope *scope = &((struct world *)*state)->scope;
    static const struct expr_case cases[] = {
        {"loss < 3 and late > 1", "2 < 3, 4 > 1"},
        {"loss > 3 and late > 1", "2 > 3 (false)"},
        {"loss > 3 or late + 1 == 5", "2 > 3 (false), 5 == 5"},
        {"max(loss) > 5 and (first(late) <= 1 or loss == 2)", "9 > 5, 1 <= 1"},
        {"preset == 'extreme'", ""},
        {"last_nan < 1", "NaN < 1 (false)"},
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
        {"anything + preset", "error: text stands where a number is needed"},
        {"validate.anything > 0", "true"},
        {"production.loss", "insufficient: production is no phase before this one"},
    };
    ASSERT_CASES(&scope, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_those_of_lua),
        cmocka_unit_test(large_products_do_not_wrap),
        cmocka_unit_test(a_series_means_its_newest_value_where_a_number_is_needed),
        cmocka_unit_test(arithmetic_on_series_goes_step_by_step),
        cmocka_unit_test(functions_reduce_a_series_to_a_number),
        cmocka_unit_test(nan_is_never_lost_on_the_way),
        cmocka_unit_test(names_reach_params_facts_and_phases_before),
        cmocka_unit_test(wrong_types_are_told),
        cmocka_unit_test(wrong_syntax_is_told_with_its_column),
        cmocka_unit_test(hostile_text_gets_nowhere),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(work_and_memory_are_bounded),
        cmocka_unit_test(whole_results_of_params_stay_whole),
        cmocka_unit_test(the_free_names_are_listed_once_with_their_columns),
        cmocka_unit_test(comparisons_made_are_kept_for_the_report),
        cmocka_unit_test(made_up_rows_find_wrong_types_before_there_is_data),
    };
    return cmocka_run_group_tests_name("expr", tests, world_new, world_free);
}
