/* Loading one resolved phase: each member is read, and a damaged member is refused. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char whole[] =
    "{'name': 'production', 'after': ['validate', 'other'],"
    " 'params': {'depth': 12},"
    " 'resources': {'nodes': 2, 'gpus': 8, 'gpu_type': 'h100', 'cpus': null,"
    "               'cpus_per_gpu': 16, 'mem_mb': 4194304000, 'time_s': 3600},"
    " 'slurm': {'partition': 'prod'}, 'launch': 'rank', 'run': 'train', 'workdir': '/w',"
    " 'parallel': {'tensor': 4, 'pipeline': 2, 'data': 2}, 'shard': {'input': 'a', 'by': 'lines'},"
    " 'join': 'cat', 'outputs': ['x'],"
    " 'env': {'A': 'b'}, 'metrics': {'kind': 'pattern', 'pattern': '(?<loss>x)'},"
    " 'progress': {'step': 'step', 'total': 1000},"
    " 'checkpoint': {'path': '{step}', 'stop_signal': 'USR2', 'save_time_s': 90, 'keep': 2},"
    " 'gate': {'a': {'condition': 'x > 1'}}, 'guards': {}, 'nan_ok': true,"
    " 'promote': 'manual', 'on_fail': 'fail', 'linger_s': 5, 'colocate': 'validate'}";

/* Reads JSON with ' in place of ". */
static json_t *load(const char *text)
{
    char *copy = xstrdup(text);
    json_error_t error;
    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    json_t *json = json_loads(copy, JSON_DECODE_ANY, &error);
    if (!json)
        fail_msg("%s: %s", copy, error.text);
    free(copy);
    return json;
}

static void every_member_is_loaded(void **state)
{
    (void)state;
    struct phase_spec phase;
    json_t *json = load(whole);
    assert_int_equal(phase_spec_init(&phase, json, NULL), 0);
    json_decref(json); /* the phase keeps a reference */
    assert_string_equal(phase.name, "production");
    assert_int_equal(phase.after_count, 2);
    assert_string_equal(phase.after[1], "other");
    assert_int_equal(phase.resources.nodes, 2);
    assert_int_equal(phase.resources.gpus, 8);
    assert_string_equal(phase.resources.gpu_type, "h100");
    assert_int_equal(phase.resources.cpus, 0);
    assert_int_equal(phase.resources.cpus_per_gpu, 16);
    assert_int_equal(phase.resources.time_s, 3600);
    assert_string_equal(json_string_value(json_object_get(phase.slurm, "partition")), "prod");
    assert_int_equal(phase.launch, PHASE_LAUNCH_RANK);
    assert_int_equal(phase.parallel.tensor, 4);
    assert_int_equal(phase.parallel.pipeline, 2);
    assert_int_equal(phase.parallel.data, 2);
    assert_string_equal(phase.shard_input, "a");
    assert_string_equal(phase.join, "cat");
    assert_int_equal(json_array_size(phase.outputs), 1);
    assert_int_equal(json_integer_value(json_object_get(phase.params, "depth")), 12);
    assert_string_equal(phase.run, "train");
    assert_string_equal(phase.workdir, "/w");
    assert_int_equal(json_object_size(phase.env), 1);
    assert_int_equal(phase.metrics.kind, PHASE_METRICS_PATTERN);
    assert_string_equal(phase.metrics.pattern, "(?<loss>x)");
    assert_null(phase.metrics.path);
    assert_string_equal(phase.progress.step, "step");
    assert_true(phase.progress.total == 1000);
    assert_string_equal(phase.checkpoint.path, "{step}");
    assert_int_equal(phase.checkpoint.stop_signal, SIGUSR2);
    assert_int_equal(phase.checkpoint.save_time_s, 90);
    assert_int_equal(phase.checkpoint.keep, 2);
    assert_int_equal(json_object_size(phase.gate), 1);
    assert_int_equal(json_object_size(phase.guards), 0);
    assert_true(phase.nan_ok);
    assert_int_equal(phase.promote, PHASE_PROMOTE_MANUAL);
    assert_int_equal(phase.on_fail, PHASE_ON_FAIL_FAIL);
    assert_int_equal(phase.linger_s, 5);
    assert_string_equal(phase.colocate, "validate");
    phase_spec_fini(&phase);
    phase_spec_fini(&phase); /* the first call zeroes it */
    phase_spec_fini(NULL);
}

/* Returns the object that has `path` (a key, or two with a dot) as a member; `ret_key` is the last
 * key. */
static json_t *find_parent(json_t *json, const char *path, const char **ret_key)
{
    const char *dot = strchr(path, '.');
    *ret_key = dot ? dot + 1 : path;
    if (!dot)
        return json;
    char *first = text_format("%.*s", (int)(dot - path), path);
    json_t *parent = json_object_get(json, first);
    free(first);
    return parent;
}

/* A document without `path` (NULL value), or with another value there; and the key that the message
 * names, or NULL: it is valid. */
static const struct {
    const char *path, *value, *named;
} damage_rows[] = {
    {"colocate", NULL, NULL},
    {"colocate", "null", NULL},
    {"colocate", "3", "colocate"},
    {"name", NULL, "name"},
    {"name", "3", "name"},
    {"after", NULL, "after"},
    {"after", "'validate'", "after"},
    {"after", "[3]", "after"},
    {"after", "[]", NULL},
    {"resources", NULL, "resources"},
    {"resources", "[]", "resources"},
    {"resources.nodes", NULL, "nodes"},
    {"resources.nodes", "0", "nodes"},
    {"resources.nodes", "-1", "nodes"},
    {"resources.nodes", "1.5", "nodes"},
    {"resources.nodes", "null", "nodes"},
    {"resources.nodes", "4294967297", "nodes"},
    {"resources.gpus", "-1", "gpus"},
    {"resources.gpus", "0", NULL},
    {"resources.gpu_type", "null", NULL},
    {"resources.gpu_type", "8", "gpu_type"},
    {"resources.cpus", NULL, NULL}, /* as an earlier version would have resolved it */
    {"resources.cpus", "'1'", "cpus"},
    {"resources.gpu_type", NULL, NULL},
    {"resources.time_s", "0", "time_s"},
    {"slurm", "null", "slurm"},
    {"launch", "'groups'", "launch"},
    {"launch", "'group'", NULL},
    {"parallel", NULL, NULL}, /* as an earlier version has resolved it */
    {"parallel.tensor", "0", "tensor"},
    {"parallel.data", NULL, "data"},
    {"shard", "null", NULL},
    {"shard.input", NULL, "input"},
    {"join", "null", NULL},
    {"join", "3", "join"},
    {"outputs", NULL, NULL},
    {"outputs", "null", "outputs"},
    {"params", NULL, "params"},
    {"run", "null", "run"},
    {"workdir", "null", NULL},
    {"workdir", "3", "workdir"},
    {"env", "[]", "env"},
    {"metrics", "'auto'", "metrics"},
    {"metrics.kind", "'auto'", NULL},
    {"metrics.kind", "'file'", "path"},
    {"metrics.pattern", NULL, "pattern"},
    {"progress", "null", NULL},
    {"progress.step", NULL, "step"},
    {"progress.total", "0", "total"},
    {"progress.total", "'1000'", "total"},
    {"checkpoint", "null", NULL},
    {"checkpoint", "3", "checkpoint"},
    {"checkpoint.path", NULL, "path"},
    {"checkpoint.stop_signal", "'KILL'", "stop_signal"},
    {"checkpoint.save_time_s", "-1", "save_time_s"},
    {"checkpoint.keep", "'2'", "keep"},
    {"gate", NULL, "gate"},
    {"guards", "null", "guards"},
    {"nan_ok", NULL, "nan_ok"},
    {"nan_ok", "1", "nan_ok"},
    {"promote", "''", "promote"},
    {"on_fail", "'FAIL'", "on_fail"},
    {"linger_s", "-1", "linger_s"},
    {"unknown", "3", NULL},
};

static void the_message_about_a_damaged_member_names_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damage_rows / sizeof damage_rows[0]; i++) {
        struct phase_spec phase;
        struct error err = {0};
        json_t *json = load(whole);
        const char *key;
        json_t *parent = find_parent(json, damage_rows[i].path, &key);
        if (damage_rows[i].value)
            (void)json_object_set_new(parent, key, load(damage_rows[i].value));
        else
            (void)json_object_del(parent, key);
        int result = phase_spec_init(&phase, json, &err);
        char *quoted = text_format("'%s'", damage_rows[i].named ? damage_rows[i].named : "");
        if (damage_rows[i].named ? result != -EINVAL || !strstr(err.message, quoted) : result != 0)
            fail_msg("%s: %s gives %d: %s", damage_rows[i].path,
                     damage_rows[i].value ? damage_rows[i].value : "nothing", result, err.message);
        free(quoted);
        phase_spec_fini(&phase);
        json_decref(json);
    }
}

/* The job has the options of `slurm`, and those that `resources` stands for. */
static void resources_become_options_of_the_job(void **state)
{
    (void)state;
    static const struct {
        const char *phase;
        unsigned parts;
        const char *options;
    } rows[] = {
        {"{}", 1, "{}"},
        {"{'slurm': {'nice': 5}, 'resources': {'mem_mb': null}}", 2, "{'nice': 5}"},
        {"{'resources': {'mem_mb': 512}}", 1, "{'mem': 512}"},
        {"{'slurm': {'nice': 5}, 'resources': {'mem_mb': 512}}", 4, "{'nice': 5, 'mem': 2048}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *phase = load(rows[i].phase), *before = json_deep_copy(phase);
        json_t *options = phase_spec_options(phase, rows[i].parts);
        json_t *expected = load(rows[i].options);
        assert_true(json_equal(options, expected));
        assert_true(json_equal(phase, before));
        json_decref(phase);
        json_decref(before);
        json_decref(options);
        json_decref(expected);
    }
}

static void only_an_object_is_a_phase(void **state)
{
    (void)state;
    static const char *const texts[] = {"3", "[]", "null", "'x'", "{}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct phase_spec phase;
        json_t *json = load(texts[i]);
        assert_int_equal(phase_spec_init(&phase, json, NULL), -EINVAL);
        json_decref(json);
    }
}

static void values_are_written_as_short_as_exact(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
    } rows[] = {
        {"1", "1"},
        {"-5", "-5"},
        {"9223372036854775807", "9223372036854775807"},
        {"5.0", "5.0"},
        {"0.1", "0.1"},
        {"0.0003", "0.0003"},
        {"1e-5", "1e-05"},
        {"1e20", "1e+20"},
        {"-0.5", "-0.5"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"123456789.125", "123456789.125"},
        {"1000000.0", "1000000.0"},
        {"true", "true"},
        {"false", "false"},
        {"'True'", "True"},
        {"''", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {0};
        json_t *json = load(rows[i].json);
        phase_value_text(json, &text);
        assert_string_equal(text_string(&text), rows[i].text);
        if (json_is_real(json))
            assert_true(strtod(text_string(&text), NULL) == json_real_value(json));
        json_decref(json);
        text_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_is_loaded),
        cmocka_unit_test(the_message_about_a_damaged_member_names_it),
        cmocka_unit_test(resources_become_options_of_the_job),
        cmocka_unit_test(only_an_object_is_a_phase),
        cmocka_unit_test(values_are_written_as_short_as_exact),
    };
    return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
