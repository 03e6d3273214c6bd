/* Rehearsals: how each member of a workflow changes. */
#include "tests/unit/unit.h"

#include "lib/memory.h"
#include "lib/spec/rehearsal.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static const char file[] =
    "name: t\n"
    "phases:\n"
    "  ladder:\n"
    "    matrix: {batch: [64, 128]}\n"
    "    pack: serial\n"
    "    best: {max: mean(speed), rungs: {steps: [100, 300]}, cut: 1/2}\n"
    "    resources: {time: 10m}\n"
    "    run: x $batch $steps\n"
    "  validate:\n"
    "    after: ladder\n"
    "    params: {batch: =ladder.batch, iterations: 1000}\n"
    "    resources: {time: 4h, gpus: h100:1}\n"
    "    run: x $batch $iterations\n"
    "    progress: {step: step, total: $iterations}\n"
    "    checkpoint: {path: \"$PHASED_OUT/{step}\", save_time: 20m}\n"
    "    slurm: {time_min: 3h}\n"
    "    gate: {low: {value: last(loss), at_most: 2}}\n"
    "    guards: {cap: last(loss) < 100}\n"
    "    remedies: {oom: {set: {batch: batch / 2}}}\n"
    "    promote: manual\n"
    "    until: last(loss) < 1\n"
    "    by_gpu: {h100: {until: last(loss) < 3, gate: {low: {at_most: 3}}}}\n"
    "  convert: {after: validate, resources: {time: 4h}, run: x}\n"
    "  pack: {after: validate, resources: {time: 4h}, run: x, outputs: [a.bin],\n"
    "    checkpoint: {path: \"$PHASED_OUT/s_{step}\"}}\n"
    "  production: {extends: validate, after: convert}\n";

static json_t *rehearsal_of(const char *data, unsigned steps, char **ret_problems)
{
    const struct spec_overrides overrides = {.rehearsal_steps = steps};
    struct spec_problems problems = {0};
    struct text text = {0};
    json_t *json = NULL;
    (void)spec_parse("F", data, strlen(data), &overrides, &json, &problems);
    spec_problems_text(&problems, &text);
    spec_problems_fini(&problems);
    *ret_problems = text_steal(&text);
    return json;
}

static const json_t *follow(const json_t *json, const char *path)
{
    char *words = xstrdup(path), *rest = words;
    for (char *word; json && (word = strtok_r(rest, " ", &rest));)
        json = json_is_array(json) ? json_array_get(json, (size_t)strtol(word, NULL, 10))
                                   : json_object_get(json, word);
    free(words);
    return json;
}

/* The phases in their order: ladder, validate, convert, pack, production. */
static const struct {
    const char *path, *expected; /* as JSON; NULL: it is absent */
} rows[] = {
    {"name", "\"t-rehearsal\""},
    {"rehearsal", "{\"steps\":5}"},
    {"phases 0 name", "\"ladder\""},
    {"phases 0 params", "{\"batch\":64,\"steps\":100}"},
    {"phases 0 matrix", NULL},
    {"phases 0 resources time_s", "600"},
    {"phases 0 until", "{\"condition\":\"elapsed >= 60\"}"},
    {"phases 0 until_resumed", NULL},
    {"phases 0 rehearsal", "true"},
    {"phases 1 name", "\"validate\""},
    {"phases 1 params", "{\"batch\":64,\"iterations\":1000}"},
    {"phases 1 until", "{\"condition\":\"step >= 5 or elapsed >= 900\"}"},
    /* It has a checkpoint, so another run resumes from it. */
    {"phases 1 until_resumed", "{\"steps\":5,\"elapsed\":900}"},
    {"phases 1 progress total", "1000"},
    {"phases 1 gate low else", "\"warn\""},
    {"phases 1 gate low at_most", "2"},
    {"phases 1 guards cap else", NULL},
    {"phases 1 remedies", "{}"},
    {"phases 1 promote", "\"auto\""},
    {"phases 1 on_fail", "\"fail\""},
    {"phases 1 resources time_s", "1800"},
    {"phases 1 slurm", "{}"}, /* Slurm refuses a time_min above the time */
    {"phases 1 checkpoint save_time_s", "900"},
    {"phases 1 by_gpu 0 phase until", NULL},
    {"phases 1 by_gpu 0 phase gate low else", "\"warn\""},
    {"phases 1 by_gpu 0 phase gate low at_most", "3"},
    {"phases 2 name", "\"convert\""},
    {"phases 2 until", "{\"condition\":\"elapsed >= 60\"}"},
    {"phases 3 name", "\"pack\""},
    {"phases 3 until", NULL},
    {"phases 3 rehearsal", NULL},
    {"phases 3 until_resumed", NULL},
    {"phases 3 resources time_s", "14400"},
    {"phases 4 name", "\"production\""},
    /* It may continue the count of validate. */
    {"phases 4 until", "{\"condition\":\"step >= 15 or elapsed >= 900\"}"},
    {"phases 5", NULL},
};

static void each_phase_ends_early_and_passes(void **state)
{
    (void)state;
    char *problems;
    json_t *json = rehearsal_of(file, 5, &problems);
    assert_string_equal(problems,
                        "F: warning: phases.pack: runs whole in the rehearsal, because other "
                        "phases may need all of its results (--set makes it smaller)\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *found = follow(json, rows[i].path);
        char *text = found ? json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        assert_string_equal(text ? text : "(nothing)",
                            rows[i].expected ? rows[i].expected : "(nothing)");
        free(text);
    }
    json_decref(json);
    free(problems);
}

static void phases_on_the_same_gpus_have_the_same_time(void **state)
{
    (void)state;
    static const char data[] = "name: t\nphases:\n"
                               "  a: {resources: {gpus: h100:1, time: 4h}, run: x}\n"
                               "  b: {colocate: a, run: x, outputs: [a.bin]}\n"
                               "  c: {resources: {gpus: h100:1, time: 4h}, run: x}\n"
                               "  d: {colocate: c, run: x}\n";
    static const int expected[] = {14400, 14400, 1800, 1800};
    char *problems;
    json_t *json = rehearsal_of(data, 5, &problems);
    assert_non_null(json);
    for (size_t i = 0; i < 4; i++) {
        char *path = text_format("phases %zu resources time_s", i);
        assert_int_equal(json_integer_value(follow(json, path)), expected[i]);
        free(path);
    }
    json_decref(json);
    free(problems);
}

static void a_rehearsal_checks_also_what_it_leaves_out(void **state)
{
    (void)state;
    char *problems;
    json_t *json = rehearsal_of("name: t\nphases:\n"
                                "  a: {resources: {time: 1h}, matrix: {n: [1]}, run: x $n, "
                                "best: {max: mean(}}\n",
                                5, &problems);
    assert_null(json);
    assert_non_null(strstr(problems, "phases.a.best.max: "));
    free(problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_ends_early_and_passes),
        cmocka_unit_test(phases_on_the_same_gpus_have_the_same_time),
        cmocka_unit_test(a_rehearsal_checks_also_what_it_leaves_out),
    };
    return cmocka_run_group_tests_name("rehearsal", tests, NULL, NULL);
}
