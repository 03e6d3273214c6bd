/* The workflow file: good and bad files of a corpus, and what no such file can show (bounds, --set,
 * files that cannot be read). The corpus is in tests/specs; its README.md says how it works. */
#include "tests/unit/same_lines.h"
#include "tests/unit/unit.h"

#include "daemon/core/model.h"
#include "daemon/outlook/outlook.h"
#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/file.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MINIMAL "name: t\nphases:\n  train: {run: x, resources: {time: 1h}}\n"

enum { CORPUS_GOOD_MIN = 15, CORPUS_BAD_MIN = 45 };

static char *corpus_path(const char *name)
{
    const char *source = getenv("SRC");
    return text_format("%s/tests/specs/%s", source ? source : ".", name);
}

static char *corpus_read(const char *name)
{
    char *path = corpus_path(name), *data;
    struct error err;
    if (file_read(path, 64 << 20, &data, NULL, &err) < 0)
        fail_msg("%s", err.message);
    free(path);
    return data;
}

/* Returns what the `# expect:` lines say, as it would be printed for a file called F. */
static char *corpus_expected(const char *data)
{
    static const char mark[] = "\n# expect: ";
    struct text expected = {0};
    for (const char *at = data; (at = strstr(at, mark));) {
        at += strlen(mark);
        size_t size = strcspn(at, "\n");
        text_add(&expected, isdigit((unsigned char)*at) ? "F:" : "F: ");
        text_add_bytes(&expected, at, size);
        text_add(&expected, "\n");
    }
    return text_steal(&expected);
}

/* Returns the problems as printed, the caller's; `ret_json` may be NULL. */
static char *parse(const char *data, const struct spec_overrides *overrides, json_t **ret_json)
{
    struct spec_problems problems = {0};
    struct text lines = {0};
    json_t *json = NULL;
    int result = spec_parse("F", data, strlen(data), overrides, &json, &problems);
    assert_int_equal(result, problems.error_count ? -EINVAL : 0);
    assert_int_equal(json != NULL, problems.error_count == 0);
    spec_problems_text(&problems, &lines);
    spec_problems_fini(&problems);
    if (ret_json)
        *ret_json = json;
    else
        json_decref(json);
    return text_steal(&lines);
}

static void assert_problems(const char *data, const char *expected)
{
    char *problems = parse(data, NULL, NULL);
    assert_string_equal(problems, expected);
    free(problems);
}

/* Calls `check` with each file of a folder of the corpus. Returns how many there are. */
static int corpus_walk(const char *folder, void (*check)(const char *name, const char *data))
{
    int count = 0;
    char *path = corpus_path(folder);
    struct dirent **entries;
    int found = scandir(path, &entries, NULL, alphasort);
    if (found < 0)
        fail_msg("%s: %s", path, strerror(errno));
    for (int i = 0; i < found; i++) {
        if (text_ends(entries[i]->d_name, ".yaml")) {
            char *name = text_format("%s/%s", folder, entries[i]->d_name);
            char *data = corpus_read(name);
            check(name, data);
            free(data);
            free(name);
            count++;
        }
        free(entries[i]);
    }
    free(entries);
    free(path);
    return count;
}

/* --- The corpus ------------------------------------------------------------------------------- */

static void check_checks(const char *name, const json_t *checks)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)checks, key, value)
    {
        struct check check;
        struct error err;
        if (check_from_json(key, value, &check, &err) < 0)
            fail_msg("%s: %s: %s", name, key, err.message);
        check_fini(&check);
    }
}

static void check_good(const char *name, const char *data)
{
    json_t *json, *member;
    size_t i;
    char *expected = corpus_expected(data), *problems = parse(data, NULL, &json);
    assert_same_lines(name, problems, expected);
    assert_non_null(json);
    json_array_foreach(json_object_get(json, "phases"), i, member)
    {
        check_checks(name, json_object_get(member, "gate"));
        check_checks(name, json_object_get(member, "guards"));
    }
    struct workflow *workflow;
    struct error err;
    if (outlook_model(json, &workflow, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    workflow_free(workflow);
    json_decref(json);
    free(problems);
    free(expected);
}

static void check_bad(const char *name, const char *data)
{
    json_t *json;
    char *expected = corpus_expected(data), *problems = parse(data, NULL, &json);
    assert_same_lines(name, problems, expected);
    assert_null(json);
    free(problems);
    free(expected);
}

static void every_good_spec_is_accepted_and_has_a_model(void **state)
{
    (void)state;
    assert_true(corpus_walk("good", check_good) >= CORPUS_GOOD_MIN);
}

static void every_bad_spec_is_refused_with_places_and_reasons(void **state)
{
    (void)state;
    assert_true(corpus_walk("bad", check_bad) >= CORPUS_BAD_MIN);
}

/* Removes what `json` has in common with `plain`, also in maps. */
static void leave_out(json_t *json, const json_t *plain)
{
    const char *key;
    json_t *member;
    void *next;
    json_object_foreach_safe(json, next, key, member)
    {
        json_t *other = json_object_get(plain, key);
        if (json_equal(member, other))
            json_object_del(json, key);
        else if (json_is_object(other))
            leave_out(member, other);
    }
}

/* `is_whole`: the document has every member. Otherwise its phases leave out what MINIMAL has, too,
 * so that a new key changes no such document. */
static void check_document(const char *name, bool is_whole)
{
    char *yaml = text_format("good/%s.yaml", name), *resolved = text_format("good/%s.json", name);
    char *data = corpus_read(yaml), *expected = corpus_read(resolved);
    json_t *json, *minimal, *phase, *expected_json = json_loads(expected, 0, NULL);
    size_t i;
    char *problems = parse(data, NULL, &json);
    if (!json)
        fail_msg("%s: %s", yaml, problems);
    free(problems);
    free(parse(MINIMAL, NULL, &minimal));
    assert_non_null(expected_json);
    json_array_foreach(is_whole ? NULL : json_object_get(json, "phases"), i, phase)
        leave_out(phase, json_array_get(json_object_get(minimal, "phases"), 0));
    /* Compares texts, because the order counts too. */
    char *left = json_dumps(json, JSON_INDENT(1));
    char *right = json_dumps(expected_json, JSON_INDENT(1));
    assert_same_lines(resolved, left, right);
    free(left);
    free(right);
    json_decref(json);
    json_decref(minimal);
    json_decref(expected_json);
    free(data);
    free(expected);
    free(yaml);
    free(resolved);
}

static void a_spec_resolves_to_exactly_this_document(void **state)
{
    (void)state;
    static const char *const names[] = {"extends", "params", "references", "checks", "colocate"};
    check_document("trm", true);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_document(names[i], false);
}

/* --- Files that are not workflows ------------------------------------------------------------- */

static void a_file_that_is_no_workflow_gives_one_clear_line(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t size;
        const char *line;
    } files[] = {
        {"", 0, "a.yaml: empty\n"},
        {"# nothing\n", 10, "a.yaml: empty\n"},
        {"\x7f"
         "ELF\2\1\1\0",
         8, "a.yaml:1:1: must be a text file: byte 0x7f is not UTF-8\n"},
        {"name: \"\xe4\"\n", 10, "a.yaml:1:8: must be a text file: byte 0xe4 is not UTF-8\n"},
        {"a: 1\nb: \0\n", 10, "a.yaml:2:4: must be a text file: byte 0x00 is not UTF-8\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct spec_problems problems = {0};
        struct text lines = {0};
        json_t *json = NULL;
        assert_int_equal(spec_parse("a.yaml", files[i].data, files[i].size, NULL, &json, &problems),
                         -EINVAL);
        spec_problems_text(&problems, &lines);
        assert_string_equal(text_string(&lines), files[i].line);
        spec_problems_fini(&problems);
        text_fini(&lines);
    }
}

/* --- --set ------------------------------------------------------------------------------------ */

static const char two_phases[] =
    "name: t\n"
    "defaults: {resources: {time: 1h}}\n"
    "phases:\n"
    "  one: {run: x $a $b $double, params: {a: 1, b: 2, double: =2 * a}}\n"
    "  two: {extends: one, params: {a: 3, c: 4}, run: x $a $b $c $double}\n";

static const struct {
    const char *sets[3];
    const char *one, *two; /* the params, or NULL with the problems: */
    const char *problems;
} overrides_rows[] = {
    {{NULL}, "{\"a\":1,\"b\":2,\"double\":2}", "{\"a\":3,\"b\":2,\"double\":6,\"c\":4}", ""},
    {{"a=5"}, "{\"a\":5,\"b\":2,\"double\":10}", "{\"a\":5,\"b\":2,\"double\":10,\"c\":4}", ""},
    {{"one.a=5"}, "{\"a\":5,\"b\":2,\"double\":10}", "{\"a\":3,\"b\":2,\"double\":6,\"c\":4}", ""},
    {{"two.a=5"}, "{\"a\":1,\"b\":2,\"double\":2}", "{\"a\":5,\"b\":2,\"double\":10,\"c\":4}", ""},
    {{"c=x=y"},
     "{\"a\":1,\"b\":2,\"double\":2}",
     "{\"a\":3,\"b\":2,\"double\":6,\"c\":\"x=y\"}",
     "F: warning: --set c: the file has the number 4 here, and x=y is a text\n"},
    {{"b==3 * a"}, "{\"a\":1,\"b\":3,\"double\":2}", "{\"a\":3,\"b\":9,\"double\":6,\"c\":4}", ""},
    {{"a=5", "one.a=6"},
     "{\"a\":6,\"b\":2,\"double\":12}",
     "{\"a\":5,\"b\":2,\"double\":10,\"c\":4}",
     ""},
    {{"one.a=6", "a=5"},
     "{\"a\":5,\"b\":2,\"double\":10}",
     "{\"a\":5,\"b\":2,\"double\":10,\"c\":4}",
     ""},
    {{"a=true"},
     NULL,
     NULL,
     "F:4:60: phases.one.params.double: true or false is used where a number is needed\n"},
    {{"a"}, NULL, NULL, "F: --set: must be param=value or phase.param=value: a\n"},
    {{"=1"}, NULL, NULL, "F: --set: must be param=value or phase.param=value: =1\n"},
    {{"three.a=1"}, NULL, NULL, "F: --set three.a: no phase is called three\n"},
    {{"one.c=1"}, NULL, NULL, "F: --set one.c: phase one has no such param (did you mean a?)\n"},
    {{"doubel=1"},
     NULL,
     NULL,
     "F: --set doubel: the workflow has no such param (did you mean double?)\n"},
    {{"b==a +"}, NULL, NULL, "F: --set b: a value is missing at the end\n"},
};

static const json_t *phase_named(const json_t *json, const char *name)
{
    const json_t *phase;
    size_t i;
    json_array_foreach(json_object_get(json, "phases"), i, phase)
    {
        if (text_equal(json_string_value(json_object_get(phase, "name")), name))
            return phase;
    }
    return NULL;
}

static void assert_params(const json_t *json, const char *phase, const char *expected)
{
    char *params = json_dumps(json_object_get(phase_named(json, phase), "params"), JSON_COMPACT);
    assert_string_equal(params, expected);
    free(params);
}

static void set_wins_and_derived_params_follow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof overrides_rows / sizeof overrides_rows[0]; i++) {
        struct spec_overrides overrides = {.texts = overrides_rows[i].sets};
        while (overrides.count < 3 && overrides.texts[overrides.count])
            overrides.count++;
        json_t *json;
        char *problems = parse(two_phases, &overrides, &json);
        assert_string_equal(problems, overrides_rows[i].problems);
        if (overrides_rows[i].one) {
            assert_params(json, "one", overrides_rows[i].one);
            assert_params(json, "two", overrides_rows[i].two);
        }
        json_decref(json);
        free(problems);
    }
}

/* --- Bounds ----------------------------------------------------------------------------------- */

/* Parses the text, and expects one problem that has `words`; NULL: no problem. */
static void assert_bound(struct text *text, const char *words)
{
    char *problems = parse(text_string(text), NULL, NULL);
    if (words ? !strstr(problems, words) : problems[0])
        fail_msg("no '%s' in: %.2000s", words ? words : "", problems);
    free(problems);
    text_fini(text);
}

static void at_most_a_thousand_phases_are_accepted(void **state)
{
    (void)state;
    struct text text = {0};
    for (int count = 1000; count <= 1001; count++) {
        text_add(&text, "name: t\ndefaults: {run: x, resources: {time: 1h}}\nphases:\n");
        text_add(&text, "  p0: {promote: auto}\n");
        for (int i = 1; i < count; i++)
            text_addf(&text, "  p%d: {after: p%d}\n", i, i - 1);
        assert_bound(&text, count == 1000 ? NULL : "more than 1000 keys in one map");
    }
}

static void long_chains_are_followed_to_their_end(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "name: t\nphases:\n  p0: {run: x $a, resources: {time: 1h}, params: {a: 1}}\n");
    for (int i = 1; i < 1000; i++)
        text_addf(&text, "  p%d: {extends: p%d, after: p%d, params: {a: =p%d.a + 1}}\n", i, i - 1,
                  i - 1, i - 1);
    assert_bound(&text, NULL);
    text_add(&text, "name: t\nphases:\n  p0:\n    run: x $a0\n    resources: {time: 1h}\n");
    text_add(&text, "    params:\n      a999: 1\n");
    for (int i = 0; i < 999; i++)
        text_addf(&text, "      a%d: =a%d + 1\n", i, i + 1);
    assert_bound(&text, NULL);
}

static void cycles_of_any_length_are_found(void **state)
{
    (void)state;
    static const char *const keys[] = {"extends", "after"};
    for (size_t i = 0; i < 2; i++) {
        struct text text = {0};
        text_add(&text, "name: t\ndefaults: {run: x, resources: {time: 1h}}\nphases:\n");
        for (int j = 0; j < 1000; j++)
            text_addf(&text, "  p%d: {%s: p%d}\n", j, keys[i], (j + 1) % 1000);
        assert_bound(&text, " itself: p");
    }
}

/* Each phase takes over what the phase before has, and adds as much again. */
static void the_growth_by_extends_is_bounded(void **state)
{
    (void)state;
    struct text text = {0};
    char *filler = calloc(1, 100001);
    assert_non_null(filler);
    memset(filler, 'x', 100000);
    text_addf(&text, "name: t\nphases:\n  p0: {run: \"%s\", resources: {time: 1h}}\n", filler);
    free(filler);
    for (int i = 1; i < 1000; i++)
        text_addf(&text, "  p%d: {extends: p%d}\n", i, i - 1);
    assert_bound(&text, "too much: what extends and defaults make of this file");
    text_add(&text, "name: t\nphases:\n  p0:\n    run: x\n    resources: {time: 1h}\n    env:\n");
    for (int i = 0; i < 900; i++)
        text_addf(&text, "      E%d: x\n", i);
    for (int i = 1; i < 900; i++)
        text_addf(&text, "  p%d: {extends: p%d}\n", i, i - 1);
    assert_bound(&text, "too much: what extends and defaults make of this file");
}

/* Sixty params, each twice as long as the one before: more bytes than any machine has. */
static void the_growth_by_references_is_bounded(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "name: t\nphases:\n  train:\n    run: x\n    resources: {time: 1h}\n");
    text_add(&text, "    params:\n      a0: x\n");
    for (int i = 1; i < 60; i++)
        text_addf(&text, "      a%d: $a%d$a%d\n", i, i - 1, i - 1);
    assert_bound(&text, "a17: too long after its references are replaced: more than 64 KiB");
    text_add(&text, "name: t\nphases:\n  train:\n    run: x\n    resources: {time: 1h}\n");
    text_add(&text, "    params:\n      long: ");
    for (int i = 0; i < 6000; i++)
        text_add(&text, "0123456789");
    for (int i = 1; i < 900; i++)
        text_addf(&text, "\n      a%d: $long", i);
    assert_bound(&text, "16 MiB in the whole file");
}

static void sizes_and_depths_are_bounded(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "name: [");
    for (int i = 0; i < 100001; i++)
        text_add(&text, "1,");
    text_add(&text, "1]\n");
    assert_bound(&text, "more than 100000 values");
    for (int i = 0; i < 5000; i++)
        text_add(&text, "[");
    assert_bound(&text, "more than 32 maps and lists inside each other");
    for (int i = 0; i < 5000; i++)
        text_addf(&text, "%*sa:\n", i % 60, "");
    assert_bound(&text, "F:");
    text_add(&text, MINIMAL);
    for (int i = 0; i < 1001; i++)
        text_add(&text, " \n");
    assert_bound(&text, "more than 1000 empty lines in a row");
    text_add(&text, "name: t\r\nphases:\r");
    assert_bound(&text, "F:2:8: must be a text file: byte 0x0d");
    while (text.size <= SPEC_SIZE_MAX)
        text_add(&text, "# a comment\n");
    assert_bound(&text, "larger than 1048576 bytes");
}

static void at_most_a_thousand_problems_are_reported(void **state)
{
    (void)state;
    struct spec_problems problems = {0};
    struct text text = {0};
    json_t *json = NULL;
    text_add(&text, MINIMAL);
    for (int i = 0; i < 990; i++)
        text_addf(&text, "  p%d: {run: [], resources: {time: 1}}\n", i);
    assert_int_equal(spec_parse("F", text_string(&text), text.size, NULL, &json, &problems),
                     -EINVAL);
    assert_int_equal(problems.count, SPEC_PROBLEMS_MAX);
    spec_problems_fini(&problems);
    text_fini(&text);
}

/* --- Single claims ---------------------------------------------------------------------------- */

static void each_place_is_reported_once(void **state)
{
    (void)state;
    assert_problems(
        "name: t\n"
        "defaults: {run: x, resources: {time: soon}, nan_ok: maybe}\n"
        "phases:\n"
        "  a: {linger: 1h}\n"
        "  b: {extends: a}\n"
        "  c: {extends: b}\n",
        "F:2:38: defaults.resources.time: must be a duration (such as 90s, 30m, 1h30m or "
        "2d)\n"
        "F:2:53: defaults.nan_ok: must be true or false\n");
}

static void problems_come_in_the_order_of_the_file(void **state)
{
    (void)state;
    assert_problems(
        "phases:\n"
        "  a: {extends: b, gate: {x: 1 +}}\n"
        "  b: {run: x, resources: {time: 1}}\n"
        "price: 3\n",
        "F:1:1: name: missing: the name of the workflow\n"
        "F:2:32: phases.a.gate.x: a value is missing at the end\n"
        "F:3:33: phases.b.resources.time: must be a duration with a unit (1s, 1m, "
        "1h)\n"
        "F:4:8: price: must be a price: {per_node_hour: 98}, {per_gpu_hour: 2.5} or by GPU "
        "{h100: 2.5}\n");
}

static void a_warning_does_not_refuse_a_file(void **state)
{
    (void)state;
    json_t *json;
    char *problems = parse("name: t\nphases:\n"
                           "  a: {run: x, resources: {time: 1h}, params: {lr: 1}}\n",
                           NULL, &json);
    assert_string_equal(problems, "F:3:47: warning: phases.a.params.lr: nothing uses it: run has "
                                  "no $lr\n");
    assert_non_null(json);
    json_decref(json);
    free(problems);
}

/* Checks the expectation of a workflow, or of one of its phases. */
static void assert_expected(const json_t *json, const char *expected)
{
    char *text = json_dumps(json_object_get(json, "expect"), JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(text ? text : "nothing", expected);
    free(text);
}

static void each_phase_has_its_own_range_of_expectations(void **state)
{
    (void)state;
    static const char file[] =
        "name: t\n"
        "price: {per_node_hour: 98}\n"
        "expect: {hours: [3, 5], usd: 490}\n"
        "phases:\n"
        "  a: {run: x, resources: {time: 1h}, params: {most: 98},\n"
        "      expect: {usd: [49.5, $most]}}\n"
        "  b: {extends: a, after: a}\n"
        "  m: {extends: a, matrix: {most: [1, 2]}, best: {max: last(x)}, expect: {hours: 2}}\n";
    const struct spec_overrides rehearsal = {.rehearsal_steps = 20};
    json_t *json;
    free(parse(file, NULL, &json));
    assert_expected(json, "{\"usd\":[490,490],\"hours\":[3,5]}");
    assert_expected(phase_named(json, "a"), "{\"usd\":[49.5,98]}");
    assert_expected(phase_named(json, "b"), "nothing");
    assert_expected(phase_named(json, "m"), "{\"hours\":[2,2]}");
    assert_expected(phase_named(json, "m.1"), "nothing");
    json_decref(json);
    free(parse(file, &rehearsal, &json));
    assert_expected(json, "nothing");
    assert_expected(phase_named(json, "a"), "nothing");
    json_decref(json);
}

/* So that a node can report early that a metric does not come. */
static void members_know_the_expressions_of_best(void **state)
{
    (void)state;
    json_t *json;
    char *data = corpus_read("good/matrix.yaml");
    free(parse(data, NULL, &json));
    const json_t *first = json_array_get(json_object_get(json, "phases"), 0);
    const json_t *wants = json_object_get(json_object_get(first, "member"), "wants");
    assert_int_equal(json_array_size(wants), 2);
    assert_string_equal(json_string_value(json_array_get(wants, 0)), "mean(tokens_per_s)");
    assert_string_equal(json_string_value(json_array_get(wants, 1)), "max(gpu_mem_gb) < 120");
    json_decref(json);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_good_spec_is_accepted_and_has_a_model),
        cmocka_unit_test(every_bad_spec_is_refused_with_places_and_reasons),
        cmocka_unit_test(members_know_the_expressions_of_best),
        cmocka_unit_test(a_spec_resolves_to_exactly_this_document),
        cmocka_unit_test(a_file_that_is_no_workflow_gives_one_clear_line),
        cmocka_unit_test(set_wins_and_derived_params_follow),
        cmocka_unit_test(at_most_a_thousand_phases_are_accepted),
        cmocka_unit_test(long_chains_are_followed_to_their_end),
        cmocka_unit_test(cycles_of_any_length_are_found),
        cmocka_unit_test(the_growth_by_extends_is_bounded),
        cmocka_unit_test(the_growth_by_references_is_bounded),
        cmocka_unit_test(sizes_and_depths_are_bounded),
        cmocka_unit_test(at_most_a_thousand_problems_are_reported),
        cmocka_unit_test(each_place_is_reported_once),
        cmocka_unit_test(problems_come_in_the_order_of_the_file),
        cmocka_unit_test(a_warning_does_not_refuse_a_file),
        cmocka_unit_test(each_phase_has_its_own_range_of_expectations),
    };
    return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
