/* phasectl diff: what differs between two documents, and between two texts. */
#include "tests/unit/unit.h"

#include "cli/compare/difference.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static void assert_differences(const char *left, const char *right, const char *expected)
{
    json_t *a = json_loads(left, 0, NULL), *b = json_loads(right, 0, NULL), *list = json_array();
    difference_find("", a, b, list);
    char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(list);
    json_decref(a);
    json_decref(b);
}

static void members_are_compared_one_by_one(void **state)
{
    (void)state;
    assert_differences("{}", "{}", "[]");
    assert_differences("{\"a\": 1, \"b\": {\"c\": [1, 2]}}", "{\"b\": {\"c\": [1, 2]}, \"a\": 1.0}",
                       "[]");
    assert_differences("{\"a\": 1, \"b\": {\"c\": [1, 2], \"d\": null}}",
                       "{\"a\": \"1\", \"b\": {\"c\": [1, 3], \"d\": null}}",
                       "[{\"path\":\"a\",\"left\":1,\"right\":\"1\"},"
                       "{\"path\":\"b.c\",\"left\":[1,2],\"right\":[1,3]}]");
}

static void what_one_side_lacks_is_told_as_a_whole(void **state)
{
    (void)state;
    assert_differences("{\"a\": {\"b\": 1}, \"c\": null}",
                       "{\"d\": {\"e\": {\"f\": 2}}, \"c\": null}",
                       "[{\"path\":\"a\",\"left\":{\"b\":1}},"
                       "{\"path\":\"d\",\"right\":{\"e\":{\"f\":2}}}]");
    assert_differences("{\"a\": {\"b\": 1}}", "{\"a\": null}",
                       "[{\"path\":\"a\",\"left\":{\"b\":1},\"right\":null}]");
}

static void assert_lines(const char *left, const char *right, const char *expected)
{
    struct text text = {0};
    difference_lines(left, right, 2, &text);
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
}

static void lines_keep_the_order_of_the_texts(void **state)
{
    (void)state;
    assert_lines("", "", "");
    assert_lines("a\nb\n", "a\nb", "");
    assert_lines("", "a\n\nb", "  + a\n  + \n  + b\n");
    assert_lines("a\nb\nc\nd\ne\n", "a\nc\nx\nd\ny\ne\n", "  - b\n  + x\n  + y\n");
    assert_lines("a\nb\n", "b\na\n", "  - a\n  + a\n");
    assert_lines("a\nab\n", "a\nabc\n", "  - ab\n  + abc\n");
}

/* 5,000 lines on each side, all different: the table would have more cells than it may. */
static void long_texts_are_replaced_as_a_whole(void **state)
{
    (void)state;
    struct text left = {0}, right = {0}, expected = {0};
    for (unsigned i = 0; i < 5000; i++) {
        text_addf(&left, "a%u\n", i);
        text_addf(&right, "b%u\n", i);
    }
    text_add(&left, "end\n");
    text_add(&right, "end\n");
    for (unsigned i = 0; i < 5000; i++)
        text_addf(&expected, "  - a%u\n", i);
    for (unsigned i = 0; i < 5000; i++)
        text_addf(&expected, "  + b%u\n", i);
    assert_lines(text_string(&left), text_string(&right), text_string(&expected));
    text_fini(&left);
    text_fini(&right);
    text_fini(&expected);
}

static void values_are_short(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
        bool is_long;
    } rows[] = {
        {"null", "-", false},
        {"0.001", "0.001", false},
        {"16", "16", false},
        {"true", "true", false},
        {"\"adam\"", "adam", false},
        {"\"one line\\n\"", "one line", false},
        {"\"one\\ntwo\"", "2 lines", true},
        {"\"one\\ntwo\\n\\n\"", "3 lines", true},
        {"[\"prepare\"]", "[\"prepare\"]", false},
        {"{\"a\":\"12345678901234567890123456789012345678901234567890123456789\"}", "{...}", false},
        {"[\"12345678901234567890123456789012345678901234567890123456789\"]", "[...]", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *value = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
        struct text text = {0};
        difference_value(value, &text);
        assert_string_equal(text_string(&text), rows[i].text);
        assert_int_equal(difference_is_long(value), rows[i].is_long);
        text_fini(&text);
        json_decref(value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_compared_one_by_one),
        cmocka_unit_test(what_one_side_lacks_is_told_as_a_whole),
        cmocka_unit_test(lines_keep_the_order_of_the_texts),
        cmocka_unit_test(long_texts_are_replaced_as_a_whole),
        cmocka_unit_test(values_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
