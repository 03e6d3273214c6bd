/* What the daemon makes of one resolved phase: each member is read, and a damaged member is
 * refused. */
#include "tests/unit/unit.h"

#include "daemon/core/model.h"
#include "daemon/outlook/outlook.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char whole[] =
    "{'name': 'production', 'after': ['validate', 'other'],"
    " 'resources': {'nodes': 2, 'gpus': 8, 'gpu_type': 'h100', 'cpus': null,"
    "               'cpus_per_gpu': 16, 'mem_mb': 4194304000, 'time_s': 3600},"
    " 'slurm': {'partition': 'prod'},"
    " 'checkpoint': {'path': '{step}', 'save_time_s': 90},"
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

/* The workflow of two small phases and this one; the caller owns it. */
static json_t *workflow_with(json_t *phase)
{
    json_t *resolved =
        load("{'name': 't', 'phases': ["
             " {'name': 'validate', 'after': [], 'resources': {'nodes': 1, 'time_s': 60},"
             "  'promote': 'auto', 'on_fail': 'hold'},"
             " {'name': 'other', 'after': [], 'resources': {'nodes': 1, 'time_s': 60},"
             "  'promote': 'auto', 'on_fail': 'hold'}]}");
    assert_int_equal(json_array_append(json_object_get(resolved, "phases"), phase), 0);
    return resolved;
}

static void every_member_reaches_the_model(void **state)
{
    (void)state;
    struct workflow *workflow;
    json_t *json = load(whole), *resolved = workflow_with(json);
    assert_int_equal(outlook_model(resolved, &workflow, NULL), 0);
    json_decref(json);
    json_decref(resolved); /* the model borrows nothing */
    const struct phase *small = &workflow->phases[0], *phase = &workflow->phases[2];
    assert_string_equal(phase->name, "production");
    assert_int_equal(phase->after_count, 2);
    assert_int_equal(phase->after[0], 0);
    assert_int_equal(phase->after[1], 1);
    assert_ptr_equal(phase->beside, small);
    assert_int_equal(phase->nodes, 2);
    assert_int_equal(phase->gpus_per_node, 8);
    assert_string_equal(phase->gpu_type, "h100");
    assert_int_equal(phase->cpus_per_node, 8 * 16);
    assert_int_equal(phase->time_s, 3600);
    assert_string_equal(phase->slurm_options, "{\"mem\":4194304000,\"partition\":\"prod\"}");
    assert_true(phase->has_checkpoint);
    assert_int_equal(phase->stop_s, 90);
    assert_true(phase->promote_manual);
    assert_true(phase->fail_finally);
    assert_int_equal(phase->linger_s, 5);
    assert_false(small->has_checkpoint);
    assert_int_equal(small->stop_s, PHASE_STOP_S);
    assert_false(small->promote_manual);
    assert_false(small->fail_finally);
    assert_null(small->beside);
    assert_null(small->gpu_type);
    workflow_free(workflow);
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
    {"checkpoint", "null", NULL},
    {"checkpoint", "3", "checkpoint"},
    {"checkpoint.path", NULL, "path"},
    {"checkpoint.save_time_s", "-1", "save_time_s"},
    {"promote", "''", "promote"},
    {"on_fail", "'FAIL'", "on_fail"},
    {"linger_s", "-1", "linger_s"},
    {"unknown", "3", NULL},
};

static void the_message_about_a_damaged_member_names_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damage_rows / sizeof damage_rows[0]; i++) {
        struct workflow *workflow = NULL;
        struct error err = {0};
        json_t *json = load(whole);
        const char *key;
        json_t *parent = find_parent(json, damage_rows[i].path, &key);
        if (damage_rows[i].value)
            (void)json_object_set_new(parent, key, load(damage_rows[i].value));
        else
            (void)json_object_del(parent, key);
        json_t *resolved = workflow_with(json);
        int result = outlook_model(resolved, &workflow, &err);
        char *quoted = text_format("'%s'", damage_rows[i].named ? damage_rows[i].named : "");
        if (damage_rows[i].named ? result != -EINVAL || !strstr(err.message, quoted) : result != 0)
            fail_msg("%s: %s gives %d: %s", damage_rows[i].path,
                     damage_rows[i].value ? damage_rows[i].value : "nothing", result, err.message);
        free(quoted);
        if (result == 0)
            workflow_free(workflow);
        json_decref(resolved);
        json_decref(json);
    }
}

/* `after` and `colocate` lead to an earlier phase. */
static void a_phase_that_is_named_must_stand_before(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *message;
    } rows[] = {
        {"after", "['validate', 3]",
         "phase production: `after` must name an earlier phase, which this is not"},
        {"after", "['production']",
         "phase production: `after` must name an earlier phase, which production is not"},
        {"colocate", "'production'",
         "phase production: `colocate: production` must name an earlier phase without `colocate`"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workflow *workflow;
        struct error err = {0};
        json_t *json = load(whole);
        assert_int_equal(json_object_set_new(json, rows[i].key, load(rows[i].value)), 0);
        json_t *resolved = workflow_with(json);
        assert_int_equal(outlook_model(resolved, &workflow, &err), -EINVAL);
        assert_string_equal(err.message, rows[i].message);
        json_decref(resolved);
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
        struct workflow *workflow;
        json_t *json = load(texts[i]), *resolved = workflow_with(json);
        assert_int_equal(outlook_model(resolved, &workflow, NULL), -EINVAL);
        json_decref(resolved);
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
        cmocka_unit_test(every_member_reaches_the_model),
        cmocka_unit_test(the_message_about_a_damaged_member_names_it),
        cmocka_unit_test(a_phase_that_is_named_must_stand_before),
        cmocka_unit_test(resources_become_options_of_the_job),
        cmocka_unit_test(only_an_object_is_a_phase),
        cmocka_unit_test(values_are_written_as_short_as_exact),
    };
    return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
