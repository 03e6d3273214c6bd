/* Secrets: which variables are secret, their marks, and marks in the text of a workflow file. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/secrets.h"
#include "lib/spec/hide.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void names_and_urls_make_a_secret(void **state)
{
    static const struct {
        const char *name, *value;
        bool is_secret;
    } rows[] = {
        {"HF_TOKEN", "x", true},
        {"hf_token", "x", true},
        {"WANDB_API_KEY", "x", true},
        {"AWS_ACCESS_KEY_ID", "x", true},
        {"AWS_SECRET_ACCESS_KEY", "x", true},
        {"PGPASSWORD", "x", true},
        {"DB_PWD", "x", true},
        {"GITHUB_PAT", "x", true},
        {"SLACK_WEBHOOK_URL", "x", true},
        {"HF_TOKEN", "", false},
        {"MAX_TOKENS", "100", false},
        {"PWD", "/home/anna", false},
        {"OLDPWD", "/home/anna", false},
        {"PATH", "/bin", false},
        {"KEYBOARD", "us", false},
        {"http_proxy", "http://anna:pw@proxy:1", true},
        {"LIST", "a http://h/ ftp://anna:pw@h", true},
        {"ADDRESS", "http://proxy:1/a@b", false},
        {"ADDRESS", "ssh://git@host:22/x", false},
        {"ADDRESS", "http://anna:@host", false},
        {"SBATCH_EXPORT", "ALL,HF_TOKEN=x", true},
        {"SBATCH_EXPORT", "ALL", false},
        {"PLAIN", "(secret)", true},
        {"PLAIN", "(secret 2)", true},
        {"PLAIN", "(secret) ", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (secrets_is(rows[i].name, rows[i].value) != rows[i].is_secret)
            fail_msg("%s=%s", rows[i].name, rows[i].value);
}

static void a_mark_stands_for_one_value_of_a_variable(void **state)
{
    (void)state;
    json_t *secrets = json_object();
    static const char *const marks[] = {"(secret)", "(secret 2)", "(secret)"};
    static const char *const values[] = {"one", "two", "one"};
    for (size_t i = 0; i < 3; i++) {
        char *mark = secrets_add(secrets, "A_KEY", values[i]);
        assert_string_equal(mark, marks[i]);
        assert_true(secrets_is_mark(mark));
        assert_string_equal(secrets_value(secrets, "A_KEY", mark), values[i]);
        free(mark);
    }
    assert_string_equal(secrets_value(secrets, "A_KEY", "plain"), "plain");
    assert_string_equal(secrets_value(NULL, "A_KEY", "(secret 2) "), "(secret 2) ");
    assert_null(secrets_value(secrets, "A_KEY", "(secret 3)"));
    assert_null(secrets_value(secrets, "OTHER", "(secret)"));
    assert_null(secrets_value(NULL, "A_KEY", "(secret)"));
    json_decref(secrets);
}

static void values_are_scrubbed_from_a_text(void **state)
{
    static const struct {
        const char *text, *scrubbed;
    } rows[] = {
        {"train --token hf_12345678", "train --token (secret)"},
        {"hf_12345678hf_12345678,hf_1234567", "(secret)(secret),hf_1234567"},
        {"a hf_12345678-and-more b", "a (secret) b"}, /* another value begins with the first */
        {"short7", "short7"},
        {"a\nb it's \"x\n\"", "a\nb (secret)"},
        {"", ""},
    };
    json_t *secrets = json_object();
    (void)state;
    free(secrets_add(secrets, "A_KEY", "hf_12345678"));
    free(secrets_add(secrets, "A_KEY", "hf_12345678-and-more"));
    free(secrets_add(secrets, "B_KEY", "short7"));
    free(secrets_add(secrets, "C_KEY", "it's \"x\n\""));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *scrubbed = secrets_scrub(secrets, xstrdup(rows[i].text));
        assert_string_equal(scrubbed, rows[i].scrubbed);
        free(scrubbed);
    }
    char *same = secrets_scrub(NULL, xstrdup("hf_12345678"));
    assert_string_equal(same, "hf_12345678");
    free(same);
    json_decref(secrets);
}

/* --- The text of a file ----------------------------------------------------------------------- */

static const struct {
    const char *text, *hidden, *secrets;
} text_rows[] = {
    {"env: {A_KEY: ab, B: ab}\n", "env: {A_KEY: \"(secret)\", B: ab}\n", "{\"A_KEY\": [\"ab\"]}"},
    {"env:\n  A_KEY: 'it''s' # x\n  B: 1\n", "env:\n  A_KEY: '(secret)' # x\n  B: 1\n",
     "{\"A_KEY\": [\"it's\"]}"},
    {"{\"env\": {\"A_KEY\": \"q\\\"\"}}", "{\"env\": {\"A_KEY\": \"(secret)\"}}",
     "{\"A_KEY\": [\"q\\\"\"]}"},
    {"env:\n  A_KEY: |  # |\n    one\n    two\n  # c\n  B: 1\n",
     "env:\n  A_KEY: \"(secret)\"\n  # c\n  B: 1\n", "{\"A_KEY\": [\"one\\ntwo\\n\"]}"},
    {"a:\n  env:\n    A_KEY: >-\n      one\n      two\n\n    C_KEY: x\n  b: 1",
     "a:\n  env:\n    A_KEY: \"(secret)\"\n    C_KEY: \"(secret)\"\n  b: 1",
     "{\"A_KEY\": [\"one two\"], \"C_KEY\": [\"x\"]}"},
    {"env:\n  A_KEY: |\n    x", "env:\n  A_KEY: \"(secret)\"\n", "{\"A_KEY\": [\"x\\n\"]}"},
    {"env: {A_KEY: 'a$$b'}", "env: {A_KEY: '(secret)'}", "{\"A_KEY\": [\"a$b\"]}"},
    {"env: {A_KEY: $x}", "env: {A_KEY: $x}", "{}"},
    {"env: {A_KEY: ''}", "env: {A_KEY: ''}", "{}"},
    {"secrets: [B]\nenv: {B: x}\np: {env: {B: y}}",
     "secrets: [B]\nenv: {B: \"(secret)\"}\np: "
     "{env: {B: \"(secret 2)\"}}",
     "{\"B\": [\"x\", \"y\"]}"},
    {"phases: {env: {A_KEY: x, env: {A_KEY: x}}}",
     "phases: {env: {A_KEY: x, env: {A_KEY: \"(secret)\"}}}", "{\"A_KEY\": [\"x\"]}"},
    {"params: {A_KEY: x}", "params: {A_KEY: x}", "{}"},
    {"env: {A_KEY: x", "env: {A_KEY: x", "{}"}, /* no YAML */
};

static void secrets_are_hidden_where_they_are_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof text_rows / sizeof *text_rows; i++) {
        json_t *secrets = json_object(), *names = NULL;
        json_t *expected = json_loads(text_rows[i].secrets, 0, NULL);
        struct text text = {0};
        struct error err;
        assert_int_equal(hide_secrets(text_rows[i].text, strlen(text_rows[i].text), secrets, &names,
                                      &text, &err),
                         0);
        assert_string_equal(text_string(&text), text_rows[i].hidden);
        if (!json_equal(secrets, expected))
            fail_msg("%s", text_rows[i].text);
        text_fini(&text);
        json_decref(names);
        json_decref(expected);
        json_decref(secrets);
    }
}

static void a_mark_is_no_secret(void **state)
{
    (void)state;
    static const char text[] = "name: x\nenv: {A_KEY: (secret 2)}\n";
    json_t *secrets = json_object(), *names;
    struct text hidden = {0};
    struct error err;
    assert_int_equal(hide_secrets(text, strlen(text), secrets, &names, &hidden, &err), -EINVAL);
    assert_non_null(strstr(err.message, "line 2: (secret 2) stands for a value of A_KEY"));
    text_fini(&hidden);
    json_decref(secrets);
}

/* Replaces each mark in `env` by its value. */
static void reveal(const json_t *secrets, json_t *env)
{
    const char *name;
    json_t *mark;
    json_object_foreach(env, name, mark)
    {
        const char *value = secrets_value(secrets, name, json_string_value(mark));
        assert_non_null(value);
        (void)json_object_set_new(env, name, json_string(value));
    }
}

static json_t *resolve(const char *text)
{
    struct spec_problems problems = {0};
    json_t *json = NULL;
    assert_int_equal(spec_parse("F", text, strlen(text), NULL, &json, &problems), 0);
    spec_problems_fini(&problems);
    return json;
}

/* The file with marks means the same: the daemon reads it again. */
static void a_file_with_marks_resolves_to_the_same(void **state)
{
    (void)state;
    const char *source = getenv("SRC");
    char *path = text_format("%s/tests/specs/good/secrets.yaml", source ? source : "."), *data;
    json_t *secrets = json_object(), *names;
    struct text hidden = {0};
    struct error err;
    assert_int_equal(file_read(path, SPEC_SIZE_MAX, &data, NULL, &err), 0);
    assert_int_equal(hide_secrets(data, strlen(data), secrets, &names, &hidden, &err), 0);
    assert_int_equal(json_object_size(secrets), 3);
    json_t *before = resolve(data), *after = resolve(text_string(&hidden));
    assert_false(json_equal(before, after));
    reveal(secrets, json_object_get(json_array_get(json_object_get(after, "phases"), 0), "env"));
    assert_true(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    json_decref(names);
    json_decref(secrets);
    text_fini(&hidden);
    free(data);
    free(path);
}

/* --- Warnings --------------------------------------------------------------------------------- */

static void what_is_not_hidden_is_warned_of(void **state)
{
    (void)state;
    static const char text[] = "name: x\n"
                               "env: {A_KEY: $p/x, B_KEY: 0123456789}\n"
                               "phases:\n"
                               "  train:\n"
                               "    resources: {time: 1h}\n"
                               "    params: {p: 1}\n"
                               "    run: x --key 0123456789\n";
    struct spec_problems problems = {0};
    struct text said = {0};
    json_t *json = NULL;
    assert_int_equal(spec_parse("F", text, strlen(text), NULL, &json, &problems), 0);
    spec_problems_text(&problems, &said);
    assert_non_null(strstr(text_string(&said), "F:2:14: warning: env.A_KEY: looks like a secret"));
    assert_non_null(strstr(text_string(&said), "F:7:10: warning: phases.train.run: has the value"
                                               " of B_KEY"));
    assert_null(strstr(text_string(&said), "0123456789"));
    text_fini(&said);
    spec_problems_fini(&problems);
    json_decref(json);
}

/* The manual page has the patterns of lib/secrets.c. */
static void the_manual_has_every_pattern(void **state)
{
    (void)state;
    const char *source = getenv("SRC");
    char *manual_path = text_format("%s/doc/man/phased-spec.5", source ? source : ".");
    char *table_path = text_format("%s/lib/secrets.c", source ? source : "."), *manual, *table;
    struct error err;
    size_t count = 0;
    assert_int_equal(file_read(manual_path, 1 << 20, &manual, NULL, &err), 0);
    assert_int_equal(file_read(table_path, 1 << 20, &table, NULL, &err), 0);
    char *at = strstr(table, "secrets_names[] = {"), *end = strstr(at, "};");
    while ((at = strchr(at, '"')) && at < end) {
        char *pattern = text_format("Ql %.*s ", (int)strcspn(at + 1, "\""), at + 1);
        if (!strstr(manual, pattern))
            fail_msg("the manual lacks %s", pattern);
        free(pattern);
        at += 2 + strcspn(at + 1, "\"");
        count++;
    }
    assert_true(count > 10);
    free(manual);
    free(table);
    free(manual_path);
    free(table_path);
}

#define TEST(function) cmocka_unit_test(function)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(names_and_urls_make_a_secret),
        TEST(a_mark_stands_for_one_value_of_a_variable),
        TEST(values_are_scrubbed_from_a_text),
        TEST(secrets_are_hidden_where_they_are_written),
        TEST(a_mark_is_no_secret),
        TEST(a_file_with_marks_resolves_to_the_same),
        TEST(what_is_not_hidden_is_warned_of),
        TEST(the_manual_has_every_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
