/* Loading one resolved phase. The phase was checked when it was written, so only types and ranges
 * are checked here: a damaged file must do no harm. */
#include "lib/spec/phase.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Remembers the first damaged member, so that no reader has to check for failure. */
struct phase_loader {
    const char *bad;
};

static const json_t *phase_member(struct phase_loader *loader, const json_t *json, const char *key,
                                  json_type type)
{
    const json_t *member = json_object_get(json, key);
    if (member && json_typeof(member) == type)
        return member;
    if (!loader->bad)
        loader->bad = key;
    return NULL;
}

static const char *phase_string(struct phase_loader *loader, const json_t *json, const char *key)
{
    return json_string_value(phase_member(loader, json, key, JSON_STRING));
}

/* Whether the phase has a value for a key that it need not have. A workflow of an earlier version
 * lacks the members that came later. */
static bool phase_has(const json_t *json, const char *key)
{
    const json_t *member = json_object_get(json, key);
    return member && !json_is_null(member);
}

static const char *phase_optional_string(struct phase_loader *loader, const json_t *json,
                                         const char *key)
{
    return phase_has(json, key) ? phase_string(loader, json, key) : NULL;
}

/* Returns 0 if `min` is 0 and the phase has no value. */
static uint32_t phase_whole(struct phase_loader *loader, const json_t *json, const char *key,
                            uint32_t min)
{
    if (min == 0 && !phase_has(json, key))
        return 0;
    json_int_t number = json_integer_value(phase_member(loader, json, key, JSON_INTEGER));
    bool is_good = number >= min && number <= INT32_MAX;
    if (!is_good && !loader->bad)
        loader->bad = key;
    return is_good ? (uint32_t)number : min;
}

/* Returns the place of the string at `key` among `words`. */
static int phase_word(struct phase_loader *loader, const json_t *json, const char *key,
                      const char *const *words, int count)
{
    const char *string = phase_string(loader, json, key);
    for (int i = 0; i < count && string; i++) {
        if (text_equal(string, words[i]))
            return i;
    }
    if (!loader->bad)
        loader->bad = key;
    return 0;
}

static void phase_load_after(struct phase_loader *loader, struct phase_spec *phase)
{
    const json_t *after = phase_member(loader, phase->json, "after", JSON_ARRAY);
    phase->after = xcalloc(json_array_size(after) + 1, sizeof *phase->after);
    for (size_t i = 0; i < json_array_size(after); i++) {
        const char *name = json_string_value(json_array_get(after, i));
        if (name)
            phase->after[phase->after_count++] = name;
        else
            loader->bad = "after";
    }
}

static void phase_load_resources(struct phase_loader *loader, struct phase_spec *phase)
{
    const json_t *json = phase_member(loader, phase->json, "resources", JSON_OBJECT);
    phase->resources = (struct phase_resources){
        .nodes = phase_whole(loader, json, "nodes", 1),
        .gpus = phase_whole(loader, json, "gpus", 0),
        .gpu_type = phase_optional_string(loader, json, "gpu_type"),
        .alternatives = json_object_get(json, "alternatives"),
        .cpus = phase_whole(loader, json, "cpus", 0),
        .cpus_per_gpu = phase_whole(loader, json, "cpus_per_gpu", 0),
        .time_s = phase_whole(loader, json, "time_s", 1),
    };
}

static void phase_load_layout(struct phase_loader *loader, struct phase_spec *phase)
{
    const json_t *parallel = json_object_get(phase->json, "parallel");
    const json_t *shard = json_object_get(phase->json, "shard");
    if (json_is_object(parallel))
        phase->parallel = (struct phase_parallel){
            .tensor = phase_whole(loader, parallel, "tensor", 1),
            .pipeline = phase_whole(loader, parallel, "pipeline", 1),
            .data = phase_whole(loader, parallel, "data", 1),
        };
    else if (phase->launch == PHASE_LAUNCH_GROUP && !loader->bad)
        loader->bad = "parallel";
    if (json_is_object(shard))
        phase->shard_input = phase_string(loader, shard, "input");
    phase->join = phase_optional_string(loader, phase->json, "join");
    if (json_object_get(phase->json, "outputs"))
        phase->outputs = phase_member(loader, phase->json, "outputs", JSON_ARRAY);
}

static void phase_load_metrics(struct phase_loader *loader, struct phase_spec *phase)
{
    static const char *const kinds[] = {"auto", "pattern", "file"};
    const json_t *json = phase_member(loader, phase->json, "metrics", JSON_OBJECT);
    phase->metrics.kind = (enum phase_metrics_kind)phase_word(loader, json, "kind", kinds, 3);
    if (phase->metrics.kind == PHASE_METRICS_PATTERN)
        phase->metrics.pattern = phase_string(loader, json, "pattern");
    if (phase->metrics.kind == PHASE_METRICS_FILE)
        phase->metrics.path = phase_string(loader, json, "path");
}

static void phase_load_progress(struct phase_loader *loader, struct phase_spec *phase)
{
    if (json_is_null(json_object_get(phase->json, "progress")))
        return;
    const json_t *json = phase_member(loader, phase->json, "progress", JSON_OBJECT);
    const json_t *total = json_object_get(json, "total");
    phase->progress.step = phase_string(loader, json, "step");
    phase->progress.total = json_number_value(total);
    if (!(phase->progress.total > 0) && !loader->bad)
        loader->bad = "total";
}

static void phase_load_checkpoint(struct phase_loader *loader, struct phase_spec *phase)
{
    static const char *const names[] = {"TERM", "USR1", "USR2", "INT"};
    static const int signals[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGINT};
    if (json_is_null(json_object_get(phase->json, "checkpoint")))
        return;
    const json_t *json = phase_member(loader, phase->json, "checkpoint", JSON_OBJECT);
    phase->checkpoint = (struct phase_checkpoint){
        .path = phase_string(loader, json, "path"),
        .stop_signal = signals[phase_word(loader, json, "stop_signal", names, 4)],
        .save_time_s = phase_whole(loader, json, "save_time_s", 0),
        .keep = phase_whole(loader, json, "keep", 0),
    };
}

int phase_spec_init(struct phase_spec *phase, json_t *json, struct error *err)
{
    static const char *const launch[] = {"node", "rank", "group"};
    static const char *const promote[] = {"auto", "manual"}, *const on_fail[] = {"hold", "fail"};
    struct phase_loader loader = {0};
    *phase = (struct phase_spec){.json = json_incref(json)};
    phase->name = phase_string(&loader, json, "name");
    phase_load_after(&loader, phase);
    phase_load_resources(&loader, phase);
    phase->slurm = phase_member(&loader, json, "slurm", JSON_OBJECT);
    phase->launch = (enum phase_launch)phase_word(&loader, json, "launch", launch, 3);
    phase_load_layout(&loader, phase);
    phase->params = phase_member(&loader, json, "params", JSON_OBJECT);
    phase->run = phase_string(&loader, json, "run");
    phase->colocate = phase_optional_string(&loader, json, "colocate");
    phase->workdir = phase_optional_string(&loader, json, "workdir");
    phase->env = phase_member(&loader, json, "env", JSON_OBJECT);
    phase_load_metrics(&loader, phase);
    phase_load_progress(&loader, phase);
    phase_load_checkpoint(&loader, phase);
    phase->gate = phase_member(&loader, json, "gate", JSON_OBJECT);
    phase->guards = phase_member(&loader, json, "guards", JSON_OBJECT);
    phase->remedies =
        json_object_get(json, "remedies"); /* a workflow of an earlier version lacks them */
    phase->promote = (enum phase_promote)phase_word(&loader, json, "promote", promote, 2);
    phase->on_fail = (enum phase_on_fail)phase_word(&loader, json, "on_fail", on_fail, 2);
    phase->linger_s = phase_whole(&loader, json, "linger_s", 0);
    phase->nan_ok = json_is_true(json_object_get(json, "nan_ok"));
    if (!json_is_boolean(json_object_get(json, "nan_ok")) && !loader.bad)
        loader.bad = "nan_ok";
    if (!loader.bad)
        return 0;
    (void)error_set(err, -EINVAL, "phase %s is damaged: no usable '%s'",
                    phase->name ? phase->name : "without a name", loader.bad);
    phase_spec_fini(phase);
    return -EINVAL;
}

json_t *phase_spec_find(const json_t *resolved, const char *name)
{
    json_t *phase;
    size_t i;
    json_array_foreach(json_object_get(resolved, "phases"), i, phase)
    {
        if (text_equal(json_string_value(json_object_get(phase, "name")), name))
            return phase;
    }
    return NULL;
}

void phase_spec_fini(struct phase_spec *phase)
{
    if (!phase)
        return;
    free(phase->after);
    json_decref(phase->json);
    *phase = (struct phase_spec){0};
}

json_t *phase_spec_options(const json_t *json, unsigned parts)
{
    const json_t *slurm = json_object_get(json, "slurm");
    const json_t *mem = json_object_get(json_object_get(json, "resources"), "mem_mb");
    json_t *options = slurm ? json_copy((json_t *)slurm) : json_object();
    if (json_is_integer(mem))
        (void)json_object_set_new(options, "mem", json_integer(json_integer_value(mem) * parts));
    return options;
}

static void phase_real_text(double number, struct text *text)
{
    size_t size = text->size;
    text_add_number(text, number);
    if (!strpbrk(text_string(text) + size, ".eni")) /* many programs read 5 as another type */
        text_add(text, ".0");
}

void phase_value_text(const json_t *value, struct text *text)
{
    if (json_is_string(value))
        text_add(text, json_string_value(value));
    else if (json_is_integer(value))
        text_addf(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        phase_real_text(json_real_value(value), text);
    else
        text_add(text, json_is_true(value) ? "true" : "false");
}
