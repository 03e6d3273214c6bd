/* Variants of a workflow file: what each makes of tests/specs/good/variants.yaml, and unknown
 * names. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static char *read_corpus(void)
{
    const char *source = getenv("SRC");
    char *path = text_format("%s/tests/specs/good/variants.yaml", source ? source : "."), *data;
    struct error err;
    if (file_read(path, SPEC_SIZE_MAX, &data, NULL, &err) < 0)
        fail_msg("%s", err.message);
    free(path);
    return data;
}

/* Returns the problems as printed, the caller's. `ret_json` gets the resolved file. `names` is a
 * JSON array. */
static char *parse(const char *data, const char *names, bool try_variants, json_t **ret_json)
{
    struct spec_overrides overrides = {.variants = json_loads(names, 0, NULL),
                                       .try_variants = try_variants};
    struct spec_problems problems = {0};
    struct text text = {0};
    *ret_json = NULL;
    (void)spec_parse("F", data, strlen(data), &overrides, ret_json, &problems);
    spec_problems_text(&problems, &text);
    spec_problems_fini(&problems);
    json_decref(overrides.variants);
    return text_steal(&text);
}

static const struct {
    const char *names, *path; /* keys, one inside the other */
    const char *expected;     /* as JSON; NULL: it is absent */
} resolved_rows[] = {
    {"[]", "variants", NULL},
    {"[\"longer\", \"stand_in\"]", "variants", "[\"longer\",\"stand_in\"]"},
    {"[]", "price", "{\"per_node_hour\":98}"},
    {"[\"longer\"]", "price", "{\"per_gpu_hour\":12}"},
    {"[\"cheap\"]", "phases 1", NULL},
    {"[\"longer\"]", "phases 1 params", "{\"iterations\":5000,\"depth\":24}"},
    {"[\"longer\"]", "phases 0 params", "{\"iterations\":1000,\"depth\":12}"},
    {"[\"longer\"]", "phases 1 remedies", "{}"},
    {"[]", "phases 1 gate low", "{\"condition\":\"last(loss) < 3\"}"},
    {"[\"stand_in\"]", "phases 0 gate low", NULL},
    {"[\"stand_in\"]", "phases 1 gate low", NULL},
    {"[\"stand_in\"]", "phases 0 slurm", "{}"},
    {"[\"stand_in\"]", "phases 0 resources gpus", "0"},
    {"[\"stand_in\"]", "phases 1 run", "\"phase-model train --steps $iterations\""},
    {"[\"stand_in\"]", "phases 1 linger_s", "5"},
    {"[\"stand_in\", \"longer\"]", "phases 1 params", "{\"iterations\":20,\"depth\":24}"},
    {"[\"anywhere\", \"stand_in\"]", "phases 0 slurm", "{}"},
    {"[\"longer\", \"stand_in\"]", "phases 1 resources time_s", "21600"},
};

static const json_t *follow(const json_t *json, const char *path)
{
    char *words = xstrdup(path), *rest = words;
    for (char *word; json && (word = strtok_r(rest, " ", &rest));)
        json = json_is_array(json) ? json_array_get(json, (size_t)strtol(word, NULL, 10))
                                   : json_object_get(json, word);
    free(words);
    return json;
}

static void a_variant_is_put_over_the_file(void **state)
{
    (void)state;
    char *data = read_corpus();
    for (size_t i = 0; i < sizeof resolved_rows / sizeof *resolved_rows; i++) {
        json_t *json;
        char *problems = parse(data, resolved_rows[i].names, false, &json);
        assert_string_equal(problems, "");
        const json_t *found = follow(json, resolved_rows[i].path);
        char *text = found ? json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        if (resolved_rows[i].expected)
            assert_string_equal(text ? text : "(nothing)", resolved_rows[i].expected);
        else
            assert_null(found);
        free(text);
        json_decref(json);
        free(problems);
    }
    free(data);
}

#define TWO                                                                                        \
    "name: t\nphases:\n"                                                                           \
    "  a: {run: x $n, params: {n: 1}, resources: {time: 1h}}\n"                                    \
    "  b: {run: x, after: a, resources: {time: 1h}}\n"                                             \
    "variants:\n"

static const struct {
    const char *names, *variants, *problems;
} problem_rows[] = {
    {"[\"bgi\"]", "  big: {}\n", "F: --with: no variant is called bgi (did you mean big?)\n"},
    {"[\"big\"]", "  big:\n",
     "F:6:3: variants.big: must be a map of what this variant changes in the file\n"},
    {"[\"big\", \"big\"]", "  big: {}\n", "F: --with: big is given twice\n"},
    {"[\"big\"]", "  big: {phases: {c: null}}\n",
     "F:6:18: variants.big.phases.c: there is no such phase to remove\n"},
    {"[\"big\"]", "  big: {phases: {a: null}}\n",
     "F:4:22: phases.b.after: no phase is called a (did you mean b?)\n"},
    {"[\"big\"]", "  big: {phases: {a: {params: {m: null}}}}\n",
     "F:6:31: variants.big.phases.a.params.m: no value: null removes what extends or defaults "
     "give, and they give nothing\n"},
    {"[\"big\"]", "  big: {phases: {a: {params: {m: 2}}}}\n",
     "F:6:31: warning: variants.big.phases.a.params.m: nothing uses it: run has no $m\n"},
    {"[\"big\"]", "  big: {phases: {a: {run: y}}}\n", ""},
    {"[\"gone\", \"more\"]", /* the other variant removes them first */
     "  gone: {phases: {a: {run: x, params: null}}}\n"
     "  more: {phases: {b: {extends: a, params: null}}}\n",
     ""},
    {"[\"big\"]", "  big: {phases: {a: {runs: y}}}\n",
     "F:6:22: variants.big.phases.a.runs: unknown key (did you mean run?)\n"},
};

static void mistakes_in_a_variant_are_reported_at_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problem_rows / sizeof *problem_rows; i++) {
        json_t *json;
        char *data = text_format("%s%s", TWO, problem_rows[i].variants);
        char *problems = parse(data, problem_rows[i].names, false, &json);
        assert_string_equal(problems, problem_rows[i].problems);
        json_decref(json);
        free(problems);
        free(data);
    }
}

static void all_variants_can_be_tried(void **state)
{
    (void)state;
    static const char data[] = TWO "  good: {phases: {a: {params: {n: 2}}}}\n"
                                   "  bad: {phases: {a: {launch: rank}}}\n";
    json_t *json;
    char *problems = parse(data, "[]", false, &json);
    assert_string_equal(problems, "");
    json_decref(json);
    free(problems);
    problems = parse(data, "[]", true, &json);
    assert_null(json);
    assert_string_equal(problems, "F:7:30: variants.bad.phases.a.launch: rank starts one process "
                                  "per GPU, and resources has no gpus (with variant bad)\n");
    free(problems);
}

static void a_mistake_in_one_variant_does_not_hide_one_of_another(void **state)
{
    (void)state;
    static const char data[] = TWO "  key: {phase: {}}\n"
                                   "  name: {phases: {aa: {params: {n: 2}}}}\n"
                                   "  new: {phases: {c: {extends: a}, d: {params: {n: 2}}}}\n"
                                   "  rank: {phases: {a: {launch: rank}}}\n";
    json_t *json;
    char *problems = parse(data, "[]", true, &json);
    assert_null(json);
    assert_string_equal(
        problems,
        "F:6:9: variants.key.phase: unknown key (did you mean phases?)\n"
        "F:7:19: variants.name.phases.aa: there is no such phase (did you mean a?) (with variant "
        "name)\n"
        "F:8:35: variants.new.phases.d: there is no such phase (did you mean a?) (with variant "
        "new)\n"
        "F:9:31: variants.rank.phases.a.launch: rank starts one process per GPU, and resources has "
        "no gpus (with variant rank)\n");
    free(problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variant_is_put_over_the_file),
        cmocka_unit_test(mistakes_in_a_variant_are_reported_at_their_place),
        cmocka_unit_test(a_mistake_in_one_variant_does_not_hide_one_of_another),
        cmocka_unit_test(all_variants_can_be_tried),
    };
    return cmocka_run_group_tests_name("variants", tests, NULL, NULL);
}
