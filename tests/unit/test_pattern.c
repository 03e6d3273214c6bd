/* Metrics from logs by a pattern. */
#include "tests/unit/extracting.h"

#include <errno.h>

static void a_pattern_reads_its_named_groups(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_PATTERN,
                                      .pattern =
                                          "it(?<step>\\d+)|L(?<loss>[0-9.naif]+)|(x)(?<Tok>\\S+)"};
    assert_rows(&options, "it12 L2.5 loss=9\nL1 L0.5\nLnan\nnothing\nx58,679tok/s xabc\n",
                "{\"step\": 12, \"loss\": 2.5}\n{\"step\": 12, \"loss\": 0.5}\n"
                "{\"step\": 12, \"loss\": \"nan\"}\n{\"step\": 12, \"tok\": 58679}\n");
}

static void a_pattern_matches_characters_beyond_ascii(void **state)
{
    (void)state;
    struct extract_options options = {
        .kind = EXTRACT_PATTERN, .pattern = "nll\\s+\\S\\s+(?<nll>[0-9.]+)|acc\\D*(?<acc>\\d+)"};
    assert_rows(&options, "│ val/nll  │  3.25 │\nacc…: 97\nnll \xff 4\n",
                "{\"nll\": 3.25}\n{\"acc\": 97}\n");
}

static void a_wrong_pattern_is_reported(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *message;
        unsigned column;
    } cases[] = {
        {"loss (\\d+", "the pattern is wrong: missing closing parenthesis", 10},
        {"loss (\\d+)", "the pattern has no named group, such as (?<loss>[0-9.]+)", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct extract_options options = {.kind = EXTRACT_PATTERN, .pattern = cases[i].pattern};
        struct extract *extract;
        struct error err;
        assert_int_equal(extract_new(&options, collect, NULL, &extract, &err), -EINVAL);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.column, cases[i].column);
    }
}

/* It would backtrack for longer than the universe has existed. */
static void a_pattern_that_needs_too_long_is_stopped(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_PATTERN,
                                      .pattern = "^(?<x>(a+)+)+$|loss=(?<loss>\\d+)"};
    struct text text = {0};
    for (int i = 0; i < 1000; i++)
        text_add(&text, "a");
    text_add(&text, "!\nloss=3\n");
    assert_rows(&options, text_string(&text), "{\"loss\": 3}\n");
    text_fini(&text);
}

/* The machine code of PCRE2 has less memory for backtracking than its interpreter. */
static void a_pattern_may_pass_over_a_long_line(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_PATTERN,
                                      .pattern = "^(?:[a-z]=x|, )+loss=(?<loss>\\d+)"};
    struct text text = {0};
    for (int i = 0; i < 2000; i++)
        text_add(&text, "a=x, ");
    text_add(&text, "loss=3\n");
    assert_rows(&options, text_string(&text), "{\"loss\": 3}\n");
    text_fini(&text);
}

/* A pattern does not help with a file of metrics. */
static void too_many_names_ask_for_a_pattern_if_lines_are_read_without_one(void **state)
{
    (void)state;
    static const struct {
        enum extract_kind kind;
        bool asks;
    } rows[] = {{EXTRACT_AUTO, true}, {EXTRACT_FILE, false}};
    struct text lines = {0};
    for (int i = 0; i <= EXTRACT_NAMES_MAX; i++)
        text_addf(&lines, "{\"layer%d\": 7}\n", i);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct extract_options options = {.kind = rows[i].kind};
        struct extract *extract;
        struct text found = {0};
        assert_int_equal(extract_new(&options, collect, &found, &extract, NULL), 0);
        extract_feed(extract, text_string(&lines), lines.size);
        char *left_out = extract_left_out(extract);
        assert_true(text_starts(left_out, "there were more than 1000 names of metrics"));
        assert_int_equal(strstr(left_out, "pattern") != NULL, rows[i].asks);
        free(left_out);
        extract_free(extract);
        text_fini(&found);
    }
    text_fini(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_reads_its_named_groups),
        cmocka_unit_test(a_pattern_matches_characters_beyond_ascii),
        cmocka_unit_test(a_wrong_pattern_is_reported),
        cmocka_unit_test(a_pattern_that_needs_too_long_is_stopped),
        cmocka_unit_test(a_pattern_may_pass_over_a_long_line),
        cmocka_unit_test(too_many_names_ask_for_a_pattern_if_lines_are_read_without_one),
    };
    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
