/* Options of a command line: what is read, and how mistakes are reported. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 12 };

struct values {
    bool flag;
    const char *text;
    unsigned number, node;
    uint64_t steps;
    int64_t offset;
    double rate;
    struct option_list list;
    struct option_arguments arguments;
};

/* Reads `line`, which has blanks between its words, by one table with an option of each kind. */
static int read_line(const char *line, struct values *values, struct error *err)
{
    static char buffer[256];
    static char *words[WORDS_MAX + 1]; /* the arguments stay in it */
    char *rest = buffer;
    size_t count = 0;
    const struct option_rule rules[] = {
        {"follow", 'f', NULL, "a flag", .flag = &values->flag},
        {"from", 'F', "STEP", "a text", .text = &values->text},
        {"count", 0, "N", "a number", .number = &values->number, .least = 1},
        {"node", 0, "K", "a number", .number = &values->node, .most = 7},
        {"steps", 0, "N", "a large number", .large = &values->steps, .most = 1e15,
         .initial = "300"},
        {"offset", 0, "N", "a number with a sign", .integer = &values->offset, .least = -9,
         .most = 9},
        {"rate", 0, "X", "a decimal number", .decimal = &values->rate, .least = 0.5, .most = 2},
        {"set", 0, "PARAM=VALUE", "a list", .list = &values->list},
        {0},
    };
    (void)snprintf(buffer, sizeof buffer, "%s", line);
    while (rest && *rest) {
        assert_true(count < WORDS_MAX);
        words[count++] = strsep(&rest, " ");
    }
    words[count] = NULL;
    return option_read(words, rules, &values->arguments, err);
}

static void options_may_stand_anywhere_among_the_arguments(void **state)
{
    (void)state;
    struct values values = {.arguments = {.min = 1, .max = 2}};
    assert_int_equal(read_line("7 --from 20 --set a=1 -f 8 --node=0 --set=b=", &values, NULL), 0);
    assert_true(values.flag);
    assert_string_equal(values.text, "20");
    assert_int_equal(values.arguments.count, 2);
    assert_string_equal(values.arguments.items[1], "8");
    assert_int_equal(values.list.count, 2);
    assert_string_equal(values.list.items[1], "b=");
}

static void a_flag_and_a_value_may_be_given_by_letters(void **state)
{
    (void)state;
    struct values values = {0};
    assert_int_equal(read_line("-f -F start", &values, NULL), 0);
    assert_true(values.flag);
    assert_string_equal(values.text, "start");
    assert_int_equal(read_line("-Fend", &values, NULL), 0);
    assert_string_equal(values.text, "end");
}

static void the_last_value_wins_if_the_caller_wants_that(void **state)
{
    (void)state;
    struct values values = {.arguments = {.last_wins = true}};
    assert_int_equal(read_line("--from 1 --count 2 --from 3 --count=4", &values, NULL), 0);
    assert_string_equal(values.text, "3");
    assert_int_equal(values.number, 4);
}

static void numbers_may_be_large_or_have_decimals(void **state)
{
    (void)state;
    struct values values = {0};
    assert_int_equal(read_line("--steps 1e12 --rate 0.75", &values, NULL), 0);
    assert_true(values.steps == 1000000000000);
    assert_true(values.rate == 0.75);
}

static void numbers_have_a_sign_only_if_they_may_be_negative(void **state)
{
    (void)state;
    static const char *const wrong[] = {"--offset -10", "--offset 10",  "--offset +3",
                                        "--offset --3", "--offset -.5", "--node -0"};
    struct values values = {0};
    assert_int_equal(read_line("--offset -9", &values, NULL), 0);
    assert_int_equal(values.offset, -9);
    assert_int_equal(read_line("--offset 9", &values, NULL), 0);
    assert_int_equal(values.offset, 9);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(read_line(wrong[i], &values, NULL), -EINVAL);
}

static void a_default_is_set_if_no_value_is_given(void **state)
{
    (void)state;
    struct values values = {.steps = 7, .rate = 7};
    assert_int_equal(read_line("", &values, NULL), 0);
    assert_int_equal(values.steps, 300);
    assert_true(values.rate == 7); /* the option has no default */
    assert_int_equal(read_line("--steps 0", &values, NULL), 0);
    assert_int_equal(values.steps, 0);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    struct values values = {.arguments = {.max = 2}}, script = {.arguments = {.has_rest = true}};
    assert_int_equal(read_line("-- --follow -", &values, NULL), 0);
    assert_false(values.flag);
    assert_int_equal(values.arguments.count, 2);
    assert_string_equal(values.arguments.items[0], "--follow");
    assert_string_equal(values.arguments.items[1], "-");
    assert_int_equal(read_line("-f -- --help", &script, NULL), 0);
    assert_string_equal(script.arguments.rest[0], "--help");
    assert_null(script.arguments.rest[1]);
}

static void help_wins_over_a_later_mistake(void **state)
{
    (void)state;
    struct values values = {.arguments = {.min = 1, .max = 1}};
    assert_int_equal(read_line("--help --elephant", &values, NULL), OPTION_HELP);
    assert_int_equal(read_line("-h", &values, NULL), OPTION_HELP);
}

static void the_message_names_the_wrong_word(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
        int code;
    } rows[] = {
        {"7 --folow", "unknown option '--folow'; did you mean --follow?", -EINVAL},
        {"7 --elephant=1", "unknown option '--elephant=1'", -EINVAL},
        {"7 -x", "unknown option '-x'", -EINVAL},
        {"7 --follow=yes", "--follow takes no value", -EINVAL},
        {"7 --from", "--from wants a value: STEP", -EINVAL},
        {"7 --from 1 --from 2", "--from is given twice", -EINVAL},
        {"7 --count 0", "--count wants a whole number from 1 to 4294967295, not '0'", -EINVAL},
        {"7 --count -1", "--count wants a whole number from 1 to 4294967295, not '-1'", -EINVAL},
        {"7 --count 4294967296",
         "--count wants a whole number from 1 to 4294967295, not '4294967296'", -EINVAL},
        {"7 --node=", "--node wants a whole number from 0 to 7, not ''", -EINVAL},
        {"7 --node 6x", "--node wants a whole number from 0 to 7, not '6x'", -EINVAL},
        {"7 --node 1.5", "--node wants a whole number from 0 to 7, not '1.5'", -EINVAL},
        {"7 --node 0x3", "--node wants a whole number from 0 to 7, not '0x3'", -EINVAL},
        {"7 --node=-0", "--node wants a whole number from 0 to 7, not '-0'", -EINVAL},
        {"7 --node=+3", "--node wants a whole number from 0 to 7, not '+3'", -EINVAL},
        {"7 --node=\t3", "--node wants a whole number from 0 to 7, not '\t3'", -EINVAL},
        {"7 --steps nan", "--steps wants a whole number from 0 to 1e+15, not 'nan'", -EINVAL},
        {"7 --rate 0.4", "--rate wants a number from 0.5 to 2, not '0.4'", -EINVAL},
        {"7 --rate inf", "--rate wants a number from 0.5 to 2, not 'inf'", -EINVAL},
        {"7 --node 8", "--node wants a whole number from 0 to 7, not '8'", -EINVAL},
        {"7 8", "one argument too many: '8'", -EINVAL},
        {"--follow", "arguments are missing", -ENODATA},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct values values = {.arguments = {.min = 1, .max = 1}};
        struct error err;
        assert_int_equal(read_line(rows[i].line, &values, &err), rows[i].code);
        assert_string_equal(err.message, rows[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_may_stand_anywhere_among_the_arguments),
        cmocka_unit_test(a_flag_and_a_value_may_be_given_by_letters),
        cmocka_unit_test(the_last_value_wins_if_the_caller_wants_that),
        cmocka_unit_test(numbers_may_be_large_or_have_decimals),
        cmocka_unit_test(numbers_have_a_sign_only_if_they_may_be_negative),
        cmocka_unit_test(a_default_is_set_if_no_value_is_given),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(help_wins_over_a_later_mistake),
        cmocka_unit_test(the_message_names_the_wrong_word),
    };
    return cmocka_run_group_tests_name("option", tests, NULL, NULL);
}
