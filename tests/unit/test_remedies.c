/* Remedies in the workflow file: their resolved form, what they compute, and reading a file again
 * with the params that they have changed. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/spec/phase.h"
#include "lib/spec/remedies.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char workflow[] =
    "name: t\n"
    "phases:\n"
    "  a:\n"
    "    resources: {gpus: $tp, time: 1h}\n"
    "    params: {batch: 32, accum: =64 / batch, lr: 1.0, tp: 4, mode: fast}\n"
    "    run: x $batch $accum $lr $mode\n"
    "    gate: {low: {value: last(loss), at_most: $accum}}\n"
    "    remedies:\n"
    "      oom: [{set: {batch: batch / 2}, times: 2}, {set: {tp: 8}, resume: start}]\n"
    "      low: {set: {lr: lr / 2}}\n"
    "  b:\n"
    "    extends: a\n"
    "    after: a\n"
    "    params: {batch: 8}\n"
    "    remedies: {low: null}\n"
    "  c: {after: a, params: {width: =a.batch * 2}, run: x $width, resources: {time: 1h}}\n";

static json_t *parse(const char *text, const char *changes)
{
    json_t *list = changes ? json_loads(changes, 0, NULL) : NULL, *json = NULL;
    json_t *set = json_pack("{s:s}", "a.lr", "3.0");
    struct spec_overrides overrides = {.set = set, .changes = list};
    struct spec_problems problems = {0};
    struct text lines = {0};
    assert_true(!changes || list);
    if (spec_parse("F", text, strlen(text), &overrides, &json, &problems) < 0) {
        spec_problems_text(&problems, &lines);
        fail_msg("%s", text_string(&lines));
    }
    spec_problems_fini(&problems);
    json_decref(list);
    json_decref(set);
    return json;
}

/* Returns `member` of a phase as compact JSON; the caller's. */
static char *member_of(const json_t *json, size_t phase, const char *member)
{
    const json_t *list = json_object_get(json, "phases");
    char *text = json_dumps(json_object_get(json_array_get(list, phase), member),
                            JSON_COMPACT | JSON_ENCODE_ANY);
    assert_non_null(text);
    return text;
}

static void assert_member(const json_t *json, size_t phase, const char *member,
                          const char *expected)
{
    char *text = member_of(json, phase, member);
    assert_string_equal(text, expected);
    free(text);
}

static void remedies_are_lists_and_null_removes_them(void **state)
{
    (void)state;
    json_t *json = parse(workflow, NULL);
    assert_member(json, 0, "remedies",
                  "{\"oom\":[{\"set\":{\"batch\":\"batch / 2\"},\"times\":2,\"resume\":"
                  "\"checkpoint\"},{\"set\":{\"tp\":8},\"times\":1,\"resume\":\"start\"}],"
                  "\"low\":[{\"set\":{\"lr\":\"lr / 2\"},\"times\":1,\"resume\":\"checkpoint\"}]}");
    assert_member(json, 1, "remedies",
                  "{\"oom\":[{\"set\":{\"batch\":\"batch / 2\"},\"times\":2,\"resume\":"
                  "\"checkpoint\"},{\"set\":{\"tp\":8},\"times\":1,\"resume\":\"start\"}]}");
    assert_member(json, 2, "remedies", "{}");
    json_decref(json);
}

static void a_changed_param_changes_derived_params(void **state)
{
    (void)state;
    json_t *json = parse(workflow, "[{\"phase\": \"a\", \"param\": \"batch\", \"value\": 16},"
                                   " {\"phase\": \"a\", \"param\": \"tp\", \"value\": 8},"
                                   " {\"phase\": \"a\", \"param\": \"lr\", \"value\": 0.5},"
                                   " {\"phase\": \"a\", \"param\": \"batch\", \"value\": 8}]");
    char *resources = member_of(json, 0, "resources");
    assert_member(json, 0, "params",
                  "{\"batch\":8,\"accum\":8,\"lr\":0.5,\"tp\":8,\"mode\":\"fast\"}");
    assert_non_null(strstr(resources, "\"gpus\":8"));
    assert_member(json, 0, "gate", "{\"low\":{\"value\":\"last(loss)\",\"at_most\":8}}");
    free(resources);
    /* A phase that extends this one has params of its own. A phase that refers to it follows. */
    assert_member(json, 1, "params",
                  "{\"batch\":8,\"accum\":8,\"lr\":1.0,\"tp\":4,\"mode\":\"fast\"}");
    assert_member(json, 2, "params", "{\"width\":16}");
    json_decref(json);
}

static void a_changed_text_is_no_reference_and_no_number(void **state)
{
    (void)state;
    json_t *json = parse(workflow, "[{\"phase\": \"a\", \"param\": \"mode\", \"value\": \"$lr\"}]");
    char *params = member_of(json, 0, "params");
    assert_non_null(strstr(params, "\"mode\":\"$lr\""));
    free(params);
    json_decref(json);
    json = parse(workflow, "[{\"phase\": \"a\", \"param\": \"mode\", \"value\": \"8\"}]");
    params = member_of(json, 0, "params");
    assert_non_null(strstr(params, "\"mode\":\"8\""));
    free(params);
    json_decref(json);
}

static void a_set_uses_the_params_before_it(void **state)
{
    static const struct {
        const char *set, *values, *problem;
    } rows[] = {
        {"{\"batch\": \"batch / 2\", \"accum\": \"accum * batch\"}", "{\"batch\":16,\"accum\":64}",
         NULL},
        {"{\"batch\": 4, \"flag\": false}", "{\"batch\":4,\"flag\":false}", NULL},
        {"{\"lr\": \"lr / 2\"}", "{\"lr\":2.0}", NULL}, /* a real number stays real */
        {"{\"batch\": \"batch / 5\"}", "{\"batch\":6.4}", NULL},
        {"{\"mode\": \"'slow'\"}", "{\"mode\":\"slow\"}", NULL},
        {"{}", "{}", NULL},
        {"{\"lr\": \"lr / 0\"}", NULL, "lr: the result is inf"},
        {"{\"lr\": \"speed / 2\"}", NULL, "lr: "},
        {"{\"mode\": \"'=x'\"}", NULL, "mode: the value of a param cannot begin with ="},
    };
    (void)state;
    json_t *params = json_loads("{\"batch\": 32, \"accum\": 2, \"lr\": 4.0, \"mode\": \"fast\", "
                                "\"flag\": true}",
                                0, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *set = json_loads(rows[i].set, 0, NULL), *values = NULL;
        struct error err;
        int status = remedies_compute(params, set, &values, &err);
        assert_int_equal(status, rows[i].values ? 0 : -EINVAL);
        if (rows[i].values) {
            char *text = json_dumps(values, JSON_COMPACT | JSON_REAL_PRECISION(6));
            assert_string_equal(text, rows[i].values);
            free(text);
        } else {
            assert_non_null(strstr(err.message, rows[i].problem));
        }
        json_decref(set);
        json_decref(values);
    }
    json_decref(params);
}

/* 200 remedies, each a hundred times, in a phase with many params. */
static void the_work_of_trials_is_bounded(void **state)
{
    struct text text = {0}, lines = {0};
    struct spec_problems problems = {0};
    json_t *json = NULL;
    (void)state;
    text_add(&text, "name: t\nphases:\n  a:\n    resources: {time: 1h}\n    run: x\n    params:\n");
    for (int i = 0; i < 500; i++)
        text_addf(&text, "      p%d: =1 + %d\n", i, i);
    text_add(&text, "    remedies:\n      oom:\n");
    for (int i = 0; i < 200; i++)
        text_add(&text, "        - {set: {p1: p1 + 1}, times: 100}\n");
    assert_int_equal(spec_parse("F", text_string(&text), text.size, NULL, &json, &problems),
                     -EINVAL);
    spec_problems_text(&problems, &lines);
    assert_non_null(strstr(text_string(&lines),
                           "not tried: the file has too many remedies and entries of by_gpu"));
    spec_problems_fini(&problems);
    text_fini(&text);
    text_fini(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remedies_are_lists_and_null_removes_them),
        cmocka_unit_test(a_changed_param_changes_derived_params),
        cmocka_unit_test(a_changed_text_is_no_reference_and_no_number),
        cmocka_unit_test(a_set_uses_the_params_before_it),
        cmocka_unit_test(the_work_of_trials_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
