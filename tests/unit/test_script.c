/* What a bash script uses, by its text; and what a text without quotes means in a spec. */
#include "tests/unit/unit.h"

#include "lib/spec/script.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void a_variable_is_used_where_bash_or_a_quoted_name_reads_it(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        bool uses;
    } rows[] = {
        {"train --depth=$depth", true},
        {"train --depth=${depth}", true},
        {"train --depth=${depth:-12}", true},
        {"echo ${#depth} ${!depth}", true},
        {"echo $((depth * 2))", true},
        {"if (( depth > 2 )); then x; fi", true},
        {"python -c 'os.environ[\"depth\"]'", true},
        {"getenv('depth')", true},
        {"jq . <<< $PHASED_PARAMS", true},
        {"x$depth", true},
        {"$depth_more", false},
        {"$in_depth", false},
        {"train --depth=12", false},
        {"train --depth 12", false},
        {"depth=12", false},
        {"echo $((1 + 2)) depth", false},
        {"# (( \ndepth", false},
        {"'depth\"", false},
        {"{depth}", false},
        {"", false},
        {"depth", false},
        {"$", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (script_uses(rows[i].script, "depth") != rows[i].uses)
            fail_msg("%s", rows[i].script);
    }
}

static void references_are_listed_in_order(void **state)
{
    (void)state;
    struct text found = {0};
    char name[SCRIPT_NAME_MAX + 1];
    const char *at =
        "a $b ${c:-$d} $1 $$ $? \\$e ${#f} $_g $"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa $h $";
    while (script_next_reference(&at, name))
        text_addf(&found, "%s ", name);
    assert_string_equal(text_string(&found), "b c d e _g h ");
    text_fini(&found);
}

static void variables_that_a_script_sets_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        bool assigns;
    } rows[] = {
        {"name=3", true},
        {"export name=3", true},
        {"for name in a b; do", true},
        {"while read -r other name; do", true},
        {"cat x | read name", true},
        {"local name", true},
        {"name+=x", true},
        {"train --name 3", false},
        {"train $name", false},
        {"myname=3", false},
        {"before name", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (script_assigns(rows[i].script, "name") != rows[i].assigns)
            fail_msg("%s", rows[i].script);
    }
}

static void plain_text_is_a_number_only_where_json_has_one(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json;
    } rows[] = {
        {"0", "0"},
        {"-0", "0"},
        {"12", "12"},
        {"-12", "-12"},
        {"+12", "12"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "\"9223372036854775808\""},
        {"0.5", "0.5"},
        {".5", "0.5"},
        {"5.", "5.0"},
        {"5.0", "5.0"},
        {"1e3", "1000.0"},
        {"2.5E-1", "0.25"},
        {"1e999", "\"1e999\""},
        {"true", "true"},
        {"false", "false"},
        {"True", "\"True\""},
        {"yes", "\"yes\""},
        {"no", "\"no\""},
        {"on", "\"on\""},
        {"007", "\"007\""},
        {"00.5", "\"00.5\""},
        {"0x1f", "\"0x1f\""},
        {"1_000", "\"1_000\""},
        {"1:30", "\"1:30\""},
        {".inf", "\".inf\""},
        {"nan", "\"nan\""},
        {"inf", "\"inf\""},
        {".", "\".\""},
        {"-", "\"-\""},
        {"e3", "\"e3\""},
        {"1e", "\"1e\""},
        {"1e+", "\"1e+\""},
        {"1 2", "\"1 2\""},
        {"--1", "\"--1\""},
        {"", "\"\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *json = yaml_plain_value(rows[i].text);
        char *text = json_dumps(json, JSON_ENCODE_ANY);
        assert_string_equal(text, rows[i].json);
        free(text);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_is_used_where_bash_or_a_quoted_name_reads_it),
        cmocka_unit_test(references_are_listed_in_order),
        cmocka_unit_test(variables_that_a_script_sets_are_known),
        cmocka_unit_test(plain_text_is_a_number_only_where_json_has_one),
    };
    return cmocka_run_group_tests_name("script", tests, NULL, NULL);
}
