/* Expressions: what is refused and where, and what hostile expressions cannot do. */
#include "tests/unit/unit.h"

#include "lib/expr/expr.h"
#include "lib/expr/metrics.h"
#include "lib/text.h"
#include "tests/unit/expr_case.h"

#include <stdlib.h>
#include <string.h>

static void wrong_syntax_is_reported_with_its_column(void **state)
{
    (void)state;
    const struct expr_scope scope = {.before_count = 0};
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
        {"mean(loss, 5)", "column 1: mean takes 1 argument, not 2; a window is a key of the "
                          "check: over: 50 steps"},
        {"p95(loss, 5)", "column 1: p95 takes 1 argument, not 2; a window is a key of the "
                         "check: over: 50 steps"},
        {"log(loss, 10)", "column 1: log takes 1 argument, not 2"},
        {"loss[-50:]", "column 5: unexpected '[': there are no lists here; in a check, write "
                       "last(loss) or give the check a window: over: 50 steps"},
        {"mean(loss, over: 50)", "column 16: unexpected ':': keys such as over: 50 steps stand "
                                 "beside the expression"},
        {"avg(loss)", "column 1: there is no function avg (did you mean mean?)"},
        {"std(loss)", "column 1: there is no function std (did you mean stddev?)"},
        {"quantile(loss)", "column 1: there is no function quantile (did you mean p01 .. p99?)"},
        {"1 + meen(loss)", "column 5: there is no function meen (did you mean mean?)"},
        {"p100(loss)", "column 1: there is no function p100 (did you mean p01 .. p99?)"},
        {"p00(loss)", "column 1: there is no function p00 (did you mean p01 .. p99?)"},
        {"0 < loss < 5",
         "column 10: a second comparison: write a < b and b < c instead of a < b < c"},
        {"1 + 1 == 2 == 3",
         "column 12: a second comparison: write a < b and b < c instead of a < b < c"},
        {"not loss > 5", "column 1: not binds closer than >: write not (a > b)"},
        {"not nan(loss)", "column 5: not needs true or false, not a number: write a comparison, "
                          "such as nan(loss) == 0"},
        {"1 < 2 or not(spikes(loss) )", "column 13: not needs true or false, not a number: write "
                                        "a comparison, such as (spikes(loss) ) == 0"},
        {"nan(loss) and 1 < 2", "column 1: and needs true or false, not a number: write a "
                                "comparison, such as nan(loss) > 0"},
        {"1 < 2 and (-loss or 3)", "column 12: or needs true or false, not a number: write a "
                                   "comparison, such as -loss > 0"},
        {"not nan(loss) > 0", "column 1: not binds closer than >: write not (a > b)"},
        {"loss != 3", "column 6: unexpected '!=': unequal is written ~="},
        {"a && b", "column 3: unexpected '&&': write and"},
        {"a || b", "column 3: unexpected '||': write or"},
        {"a = 3", "column 3: unexpected '=': equality is written =="},
        {"2 ** 3", "column 3: unexpected '**': a power is written ^"},
        {"$depth", "column 1: unexpected '$': write names without $ in an expression"},
        {"a ? b : c", "column 3: unexpected '?'"},
        {"1 \xe2\x89\xa4 2", "column 3: unexpected '\xe2\x89\xa4'"},
        {"1 \xff 2", "column 3: unexpected byte 0xff"},
        {"1 \x01 2", "column 3: unexpected byte 0x01"},
        {"1e999", "column 1: the number is too large"},
        {"1.2.3", "column 1: '1.2.3' is not a number"},
        {"3x", "column 1: '3x' is not a number"},
        {"'abc", "column 1: the text is not closed by '"},
        {"'a\\'b'", "column 3: text cannot hold escapes or control bytes"},
        {"validate.", "column 9: a name must follow 'validate.'"},
        {"validate.loss.x", "column 14: only phase.name can be written"},
        {"a.5", "column 2: a name must follow 'a.'"},
    };
    ASSERT_CASES(&scope, cases);
}

static void hostile_text_does_no_harm(void **state)
{
    (void)state;
    const struct expr_scope scope = {.before_count = 0};
    static const struct expr_case cases[] = {
        {"(function() while true do end end)()", "column 2: 'function' is a reserved word"},
        {"while true do end", "column 1: 'while' is a reserved word"},
        {"goto x", "column 1: 'goto' is a reserved word"},
        {"::x::", "column 1: unexpected ':': keys such as over: 50 steps stand beside the "
                  "expression"},
        {"return 1", "column 1: 'return' is a reserved word"},
        {"1 end return 2", "column 3: 'end' is a reserved word"},
        {"1; 2", "column 2: unexpected ';': an expression is one value, not statements"},
        {"x = 1", "column 3: unexpected '=': equality is written =="},
        {"local x", "column 1: 'local' is a reserved word"},
        {"('x'):rep(1e9)", "column 6: unexpected ':': keys such as over: 50 steps stand beside the "
                           "expression"},
        {"'x' .. 'y'",
         "column 5: unexpected '..': text is put together outside of expressions, with $name"},
        {"{}", "column 1: unexpected '{': an expression is a number, true or false"},
        {"loss['__index']", "column 5: unexpected '[': there are no lists here; in a check, write "
                            "last(loss) or give the check a window: over: 50 steps"},
        {"[[x]]", "column 1: unexpected '[': there are no lists here; in a check, write last(loss) "
                  "or give the check a window: over: 50 steps"},
        {"#loss", "column 1: unexpected '#'"},
        {"~1", "column 1: unexpected '~'"},
        {"1 << 62", "column 3: unexpected '<<': there are no operations on bits"},
        {"1 -- 2",
         "column 3: unexpected '--': there are no comments here; put a space between two minus "
         "signs"},
        {"nil", "column 1: 'nil' is a reserved word"},
        {"_G", "insufficient: _G never came"},
        {"_ENV", "insufficient: _ENV never came"},
        {"_G.os", "insufficient: no phase before this one is called _G"},
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
    ASSERT_CASES(&scope, cases);
}

/* Returns `piece` repeated `count` times between a beginning and an end. */
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
    (void)state;
    const struct expr_scope scope = {.before_count = 0};
    const struct {
        const char *begin, *piece;
        size_t count;
        const char *end, *expected;
    } cases[] = {
        {"", "(", 50, "1", "column 50: the parenthesis is not closed"},
        {"", "(", 61, "1", "column 61: more than 60 parentheses deep"},
        {"", "mean(", 8000 / 5, "", "column 301: more than 60 parentheses deep"},
        {"", "1+", 4000, "1", "4001"},
        {"", "- ", 199, "1", "-1"},
        {"", "- ", 4000, "1", "column 401: nested more than 200 deep"},
        {"", "not ", 2000, "true", "column 801: nested more than 200 deep"},
        {"1", "^1", 4000, "", "column 401: nested more than 200 deep"},
        {"", "(1+", 50, "(1", "column 151: the parenthesis is not closed"},
        {"", "1 == 1 and ", 700, "true", "true"},
        {"max(1", ",1", 15, ")", "1"},
        {"max(1", ",1", 16, ")", "column 1: max takes 16 arguments at most, not 17"},
        {"", "1 ", 70000, "", "column 1: an expression of more than 8192 bytes"},
        {"", "a", 129, "", "column 1: a name of more than 128 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated(cases[i].begin, cases[i].piece, cases[i].count, cases[i].end);
        char *told = expr_case_told(&scope, text);
        assert_string_equal(told, cases[i].expected);
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
    char *much_memory = repeated("-m", " + (-m", 20, "))))))))))))))))))))");
    char *much_memory_in_a_call = repeated("max(-m", ", -m", 15, ")");
    char *little_at_once = repeated("m", " + (m", 20, "))))))))))))))))))))");
    const struct expr_case cases[] = {
        {much_work, "limit: takes too long: more than 100000000 rows to read"},
        {much_memory, "limit: needs too much memory"},
        {much_memory_in_a_call, "limit: needs too much memory"},
        {little_at_once, "20999979"},
        {"sum(m - m + m - m)", "0"},
    };
    ASSERT_CASES(&scope, cases);
    free(much_work);
    free(much_memory);
    free(much_memory_in_a_call);
    free(little_at_once);
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_syntax_is_reported_with_its_column),
        cmocka_unit_test(hostile_text_does_no_harm),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(work_and_memory_are_bounded),
    };
    return cmocka_run_group_tests_name("expr_refusals", tests, NULL, NULL);
}
