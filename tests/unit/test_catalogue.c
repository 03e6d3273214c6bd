/* The catalogue of failures: what a file of the user adds, replaces and gets wrong. */
#include "tests/unit/unit.h"

#include "lib/failures/catalogue.h"
#include "lib/failures/recognizer.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static json_t *builtin(void)
{
    struct spec_problems problems = {0};
    json_t *catalogue = catalogue_read(NULL, 0, &problems);
    assert_int_equal(problems.count, 0);
    return catalogue;
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static const json_t *entry_named(const json_t *catalogue, const char *name)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(catalogue, i, entry)
    {
        if (text_equal(text_at(entry, "name"), name))
            return entry;
    }
    return NULL;
}

static void entries_of_the_user_come_first_and_replace_built_in_ones(void **state)
{
    (void)state;
    static const char own[] =
        "# mine\n"
        "loader: {title: the loader is stuck, pattern: ['stuck in q\\d', '^bad shard'],\n"
        "         cause: hang, advice: fewer workers}\n"
        "cuda_oom: {pattern: CUDA out of memory, cause: oom}\n"
        "python: null\n";
    struct spec_problems problems = {0};
    json_t *all = builtin(), *catalogue = catalogue_read(own, strlen(own), &problems);
    assert_int_equal(problems.count, 0);
    assert_int_equal(json_array_size(catalogue), json_array_size(all)); /* one more, and one less */
    const json_t *loader = json_array_get(catalogue, 0);
    assert_string_equal(text_at(loader, "name"), "loader");
    assert_string_equal(text_at(loader, "pattern"), "(?J:(?:stuck in q\\d)|(?:^bad shard))");
    assert_string_equal(text_at(loader, "blame"), "none");
    assert_string_equal(text_at(loader, "tells"), "cause");
    assert_string_equal(text_at(entry_named(catalogue, "cuda_oom"), "pattern"),
                        "CUDA out of memory");
    assert_null(entry_named(catalogue, "python"));
    json_decref(catalogue);
    /* A file with only a comment counts as no file. */
    catalogue = catalogue_read("# none yet\n\n", strlen("# none yet\n\n"), &problems);
    assert_int_equal(problems.count, 0);
    assert_true(json_equal(catalogue, all));
    json_decref(catalogue);
    json_decref(all);
}

static void each_pattern_of_a_list_means_what_it_means_alone(void **state)
{
    (void)state;
    static const struct {
        const char *patterns, *fitting[3], *other;
    } rows[] = {
        {"['GPU (?<n>\\d) lost', 'no GPU (?<n>\\d)']", {"GPU 1 lost", "no GPU 2"}, "GPU 1"},
        {"['(a)one', '(b|c)\\1two']", {"aone", "bbtwo", "cctwo"}, "bctwo"},
        {"['(?<n>a)', '(?<m>b)', '(c)(?<n>d)']", {"a", "b", "cd"}, "c"},
        {"['(?<n>a|b)\\k<n>', '(?<n>c)\\1']", {"aa", "bb", "cc"}, "abc"},
        {"['(?x) one # a comment', two]", {"one", "two"}, " # a comment"},
        {"['(?xi) one # (', '(?x)t wo # )', 'th ree']", {"ONE", "two", "th ree"}, "TWO"},
        {"['(?i)one', two]", {"ONE", "two"}, "TWO"},
        {"['a|^b', 'c$|d']", {"xa", "bx", "xc"}, "xb"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct spec_problems problems = {0};
        struct text text = {0};
        char *own = text_format("mine: {pattern: %s}", rows[i].patterns);
        json_t *catalogue = catalogue_read(own, strlen(own), &problems);
        spec_problems_text(&problems, &text);
        assert_string_equal(text_string(&text), "");
        json_t *mine = json_pack("[O]", json_array_get(catalogue, 0));
        struct recognizer *recognizer = recognizer_new(mine);
        for (size_t k = 0; k < 3 && rows[i].fitting[k]; k++) {
            struct finding finding;
            const char *line = rows[i].fitting[k];
            if (!recognizer_look(recognizer, line, strlen(line), &finding))
                fail_msg("%s does not fit %s", rows[i].patterns, line);
        }
        struct finding none;
        assert_false(recognizer_look(recognizer, rows[i].other, strlen(rows[i].other), &none));
        recognizer_free(recognizer);
        json_decref(mine);
        json_decref(catalogue);
        text_fini(&text);
        free(own);
    }
}

static void a_wrong_entry_is_reported_with_its_place_and_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *own, *problem;
    } rows[] = {
        {"a: {pattern: 'x('}", "mine.yaml:1:15: a.pattern: the pattern is wrong: missing closing "
                               "parenthesis\n"},
        {"a: {pattern: [ok, 'y[']}",
         "mine.yaml:1:20: a.pattern[1]: the pattern is wrong: missing terminating ] for character "
         "class\n"},
        {"a: {pattern: ['(?<n>x)', '(?<m>y)\\1']}",
         "mine.yaml:1:5: a.pattern: the patterns cannot be alternatives of one pattern: different "
         "names for subpatterns of the same number are not allowed\n"},
        {"cuda_oom: {pattern: [x, '(*UTF)y']}",
         "mine.yaml:1:12: cuda_oom.pattern: the patterns "
         "cannot be alternatives of one pattern: (*VERB) not recognized or malformed\n"},
        {"a:\n  cause: oom\n",
         "mine.yaml:1:1: a.pattern: missing: the pattern that recognises the failure\n"},
        {"a: {pattern: x, cause: guard}",
         "mine.yaml:1:24: a.cause: must be exit, oom, nan, hang, node_fail or launch\n"},
        {"a: {pattern: x, blame: me}", "mine.yaml:1:24: a.blame: must be none, node or code\n"},
        {"a: {pattern: x, blame: node}",
         "mine.yaml:1:24: a.blame: node is only for the causes node_fail and launch\n"},
        {"a: {patern: x}",
         "mine.yaml:1:1: a.pattern: missing: the pattern that recognises the failure\n"
         "mine.yaml:1:5: a.patern: unknown key; did you mean pattern?\n"},
        {"a: {pattern: 'x*'}",
         "mine.yaml:1:15: a.pattern: the pattern matches an empty line, and so every line\n"},
        {"a b: {pattern: x}",
         "mine.yaml:1:1: a b: must be a name of letters (a-z, A-Z), digits and _\n"},
        {"__a: {pattern: x}",
         "mine.yaml:1:1: __a: must be a name of letters (a-z, A-Z), digits and _\n"},
        {"a: x", "mine.yaml:1:4: a: must be a map with pattern, cause, blame and advice\n"},
        {"- x", "mine.yaml:1:1: must be a map of failures by name\n"},
        {"cuda_oom: {pattern: '('}",
         "mine.yaml:1:22: cuda_oom.pattern: the pattern is wrong: missing closing parenthesis\n"},
        {"a: {pattern: x\n", "mine.yaml:2:1: "},
    };
    json_t *all = builtin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct spec_problems problems = {.file = text_format("mine.yaml")};
        struct text text = {0};
        json_t *catalogue = catalogue_read(rows[i].own, strlen(rows[i].own), &problems);
        spec_problems_text(&problems, &text);
        if (i + 1 < sizeof rows / sizeof *rows)
            assert_string_equal(text_string(&text), rows[i].problem);
        else
            assert_true(text_starts(text_string(&text), rows[i].problem)); /* libfyaml's words */
        assert_true(json_equal(catalogue, all));
        json_decref(catalogue);
        text_fini(&text);
        spec_problems_fini(&problems);
    }
    json_decref(all);
}

static void many_entries_of_the_user_leave_room_for_all_built_in_ones(void **state)
{
    (void)state;
    json_t *all = builtin();
    struct text own = {0};
    for (int i = 1; i < CATALOGUE_ENTRIES_MAX; i++)
        text_addf(&own, "own%d: {pattern: x%d}\n", i, i);
    for (int i = CATALOGUE_ENTRIES_MAX; i <= CATALOGUE_ENTRIES_MAX + 1; i++) {
        struct spec_problems problems = {.file = text_format("mine.yaml")};
        struct text text = {0};
        text_addf(&own, "own%d: {pattern: x%d}\n", i, i);
        json_t *catalogue = catalogue_read(text_string(&own), own.size, &problems);
        spec_problems_text(&problems, &text);
        assert_string_equal(
            text_string(&text),
            i == CATALOGUE_ENTRIES_MAX ? "" : "mine.yaml:301:1: own301: more than 300 failures\n");
        assert_int_equal(json_array_size(catalogue), CATALOGUE_ENTRIES_MAX + json_array_size(all));
        json_decref(catalogue);
        text_fini(&text);
        spec_problems_fini(&problems);
    }
    text_fini(&own);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_the_user_come_first_and_replace_built_in_ones),
        cmocka_unit_test(many_entries_of_the_user_leave_room_for_all_built_in_ones),
        cmocka_unit_test(each_pattern_of_a_list_means_what_it_means_alone),
        cmocka_unit_test(a_wrong_entry_is_reported_with_its_place_and_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
