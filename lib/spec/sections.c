/* Reading the sections of a phase. */
#include "lib/spec/sections.h"

#include "lib/error.h"
#include "lib/metrics/pattern.h"
#include "lib/secrets.h"
#include "lib/spec/checks.h"
#include "lib/spec/container.h"
#include "lib/spec/gpus.h"
#include "lib/spec/keys.h"
#include "lib/spec/layout.h"
#include "lib/spec/notify.h"
#include "lib/spec/options.h"
#include "lib/spec/remedies.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"
#include "lib/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECTIONS_SAVE_TIME_S = 60, /* the default; half of `time` if that is less */
    SECTIONS_LINGER_S = 20,
    SECTIONS_IDLE_S = 600,
};

static void sections_set(json_t *json, const char *key, json_t *value)
{
    (void)json_object_set_new(json, key,
                              value); /* fails only without memory, or when the value is NULL */
}

static struct spec_problems *sections_problems(const struct sections *sections)
{
    return sections->scope->problems;
}

static void sections_missing(const struct sections *sections, const struct yaml_node *map,
                             enum keys_map keys, const char *key, const char *message)
{
    if (!sections->lacks_base && !keys_is_misspelt(map, keys, key))
        yaml_missing(sections_problems(sections), map, key, "%s", message);
}

/* Returns the value of a key of the phase; NULL: the phase does not have the key. */
static const struct yaml_node *sections_node(const struct sections *sections, const struct key *key)
{
    return yaml_get(sections->phase, key->name);
}

/* Returns the map that is the value of `key`, with its keys checked. NULL: there is no value, or it
 * is not a map. */
static const struct yaml_node *sections_map(const struct sections *sections, const struct key *key,
                                            enum keys_map keys, const char *what)
{
    return keys_read_map(sections_problems(sections), sections_node(sections, key), keys, what);
}

/* Returns the whole number at the key `name` of `map`, or JSON null. */
static json_t *sections_whole(const struct sections *sections, const struct yaml_node *map,
                              enum keys_map keys, const char *name)
{
    int64_t number;
    bool is_good = scalar_key_whole(sections->scope, map, keys, name, &number);
    return is_good ? json_integer(number) : json_null();
}

/* --- resources -------------------------------------------------------------------------------- */

/* Returns the MiB, or JSON null. */
static json_t *sections_memory(const struct sections *sections, const struct yaml_node *node)
{
    uint64_t mb;
    struct error err;
    json_t *json = NULL;
    char *text = node ? scalar_string(sections->scope, node) : NULL;
    if (text && units_parse_memory(text, &mb, &err) < 0)
        yaml_problem(sections_problems(sections), node, "%s", err.message);
    else if (text && mb == 0)
        yaml_problem(sections_problems(sections), node, "less than 1M");
    else if (text)
        json = json_integer((json_int_t)mb);
    free(text);
    return json ? json : json_null();
}

static void sections_read_time(const struct sections *sections, const struct yaml_node *map,
                               json_t *json)
{
    const struct yaml_node *node = yaml_get(map, "time");
    uint32_t seconds = 0;
    if (!node && map)
        sections_missing(sections, map, KEYS_RESOURCES, "time",
                         "missing: the time limit, such as 4h");
    else if (!node && !yaml_get(sections->phase, "resources"))
        sections_missing(sections, sections->phase, KEYS_PHASE, "resources",
                         "missing: at least the time, such as {time: 4h}");
    else if (node && scalar_duration(sections->scope, node, &seconds) && seconds < 60)
        yaml_problem(sections_problems(sections), node, "less than 1m, which is Slurm's unit");
    sections_set(json, "time_s", json_integer(seconds));
}

static void sections_read_resources(const struct sections *sections, const struct key *key,
                                    json_t *phase)
{
    if (sections->resources) {
        sections_set(phase, "resources", json_deep_copy(sections->resources));
        return;
    }
    const struct yaml_node *map = sections_map(
        sections, key, KEYS_RESOURCES, "a map (such as {nodes: 1, gpus: h100:8, time: 4h})");
    const struct yaml_node *cpus_per_gpu = yaml_get(map, "cpus_per_gpu");
    json_t *json = json_object();
    json_t *nodes = sections_whole(sections, map, KEYS_RESOURCES, "nodes");
    sections_set(json, "nodes", json_is_null(nodes) ? json_integer(1) : nodes);
    gpus_read(sections->scope, yaml_get(map, "gpus"), json);
    sections_set(json, "cpus", sections_whole(sections, map, KEYS_RESOURCES, "cpus"));
    sections_set(json, "cpus_per_gpu",
                 sections_whole(sections, map, KEYS_RESOURCES, "cpus_per_gpu"));
    sections_set(json, "mem_mb", sections_memory(sections, yaml_get(map, "mem")));
    sections_read_time(sections, map, json);
    if (cpus_per_gpu && yaml_get(map, "cpus"))
        yaml_key_problem(sections_problems(sections), cpus_per_gpu,
                         "cpus is given too: give one of the two");
    else if (cpus_per_gpu && !yaml_get(map, "gpus"))
        yaml_key_problem(sections_problems(sections), cpus_per_gpu, "there are no gpus");
    sections_set(phase, "resources", json);
}

/* --- run, workdir, env ------------------------------------------------------------------------ */

static void sections_read_run(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *node = sections_node(sections, key);
    if (!node)
        sections_missing(sections, sections->phase, KEYS_PHASE, "run",
                         "missing: the script to run");
    else
        scope_check_script(sections->scope, node);
    sections_set(phase, "run", json_string(node ? node->text : ""));
}

static void sections_read_workdir(const struct sections *sections, const struct key *key,
                                  json_t *phase)
{
    const struct yaml_node *node = sections_node(sections, key);
    char *text = node ? scalar_string(sections->scope, node) : NULL;
    if (text && text[0] != '/' && !text_starts(text, "$PHASED_") && !text_starts(text, "${PHASED_"))
        yaml_problem(sections_problems(sections), node, "must be an absolute path");
    sections_set(phase, "workdir", text ? json_string(text) : json_null());
    free(text);
}

static void sections_read_env(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *map =
        yaml_map(sections_problems(sections), sections_node(sections, key), "a map of variables");
    json_t *json = json_object();
    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_node *node = map->items[i];
        struct text text = {0};
        if (!scope_is_name(node->key) && !text_starts(node->key, "__"))
            yaml_key_problem(sections_problems(sections), node, "must be the name of a variable");
        else if (text_starts(node->key, "PHASED_"))
            yaml_key_problem(sections_problems(sections), node,
                             "phased or Slurm sets this variable for every run");
        else if (node->kind != YAML_SCALAR && node->kind != YAML_NULL)
            yaml_problem(sections_problems(sections), node, "must be a text");
        else if (node->kind == YAML_SCALAR && !node->is_cut &&
                 scope_text(sections->scope, node, &text)) {
            if (secrets_is_mark(text_string(&text)) && !secrets_is_mark(node->text))
                yaml_problem(
                    sections_problems(sections), node,
                    "has the value %s, with which phased marks a hidden secret: use another text",
                    text_string(&text));
            sections_set(json, node->key, json_string(text_string(&text)));
        }
        text_fini(&text);
    }
    sections_set(phase, "env", json);
}

/* --- metrics, progress, checkpoint ------------------------------------------------------------ */

static bool sections_check_pattern(const struct sections *sections, const struct yaml_node *node)
{
    struct error err;
    json_t *names = pattern_names(node->text, &err);
    bool is_good = names != NULL;
    if (!is_good)
        yaml_problem_at(sections_problems(sections), node, err.column - 1, "%s", err.message);
    json_decref(names);
    return is_good;
}

static json_t *sections_metrics_map(const struct sections *sections, const struct yaml_node *map)
{
    const struct yaml_node *pattern = yaml_get(map, "pattern"), *file = yaml_get(map, "file");
    keys_check(sections_problems(sections), map, KEYS_METRICS);
    if (pattern && file) {
        yaml_key_problem(sections_problems(sections), file,
                         "pattern is given too: give one of the two");
    } else if (pattern && pattern->kind != YAML_SCALAR) {
        yaml_problem(sections_problems(sections), pattern, "must be a text");
    } else if (pattern && !pattern->is_cut && sections_check_pattern(sections, pattern)) {
        return json_pack("{ssss}", "kind", "pattern", "pattern", pattern->text);
    } else if (file) {
        char *path = scalar_string(sections->scope, file);
        json_t *json = path ? json_pack("{ssss}", "kind", "file", "path", path) : NULL;
        free(path);
        return json;
    } else if (!pattern) {
        yaml_problem(sections_problems(sections), map, "needs pattern or file");
    }
    return NULL;
}

static void sections_read_metrics(const struct sections *sections, const struct key *key,
                                  json_t *phase)
{
    const struct yaml_node *node = sections_node(sections, key);
    json_t *json = NULL;
    if (node && node->kind == YAML_MAP)
        json = sections_metrics_map(sections, node);
    else if (node && (node->kind != YAML_SCALAR || !text_equal(node->text, "auto")))
        yaml_problem(sections_problems(sections), node,
                     "must be auto, {pattern: '...'} or {file: path}");
    sections_set(phase, "metrics", json ? json : json_pack("{ss}", "kind", "auto"));
}

/* Returns a number of `progress`; NULL if it is missing or not above 0. */
static json_t *sections_progress_number(const struct sections *sections,
                                        const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = yaml_get(map, key);
    double number = 0;
    if (!node || !scalar_number(sections->scope, node, &number))
        return NULL;
    if (number > 0)
        return scope_value(sections->scope, node);
    yaml_problem(sections_problems(sections), node, "must be above 0");
    return NULL;
}

static void sections_read_progress(const struct sections *sections, const struct key *key,
                                   json_t *phase)
{
    static const char *const sizes[] = {"samples", "tokens"}; /* optional, per step */
    const struct yaml_node *map =
        sections_map(sections, key, KEYS_PROGRESS, "a map (such as {step: step, total: 1000})");
    const struct yaml_node *step = yaml_get(map, "step");
    sections_set(phase, "progress", json_null());
    if (!map)
        return;
    char *name = step ? scalar_string(sections->scope, step) : text_format("step");
    if (name && !scope_is_name(name))
        yaml_problem(sections_problems(sections), step, "must be the name of a metric");
    if (!yaml_get(map, "total"))
        sections_missing(sections, map, KEYS_PROGRESS, "total", "missing: the step at the end");
    json_t *json = json_object();
    json_t *total = sections_progress_number(sections, map, "total");
    sections_set(json, "step", json_string(name ? name : ""));
    sections_set(json, "total", total);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        sections_set(json, sizes[i], sections_progress_number(sections, map, sizes[i]));
    if (name && total)
        sections_set(phase, "progress", json_incref(json));
    json_decref(json);
    free(name);
}

static char *sections_checkpoint_path(const struct sections *sections, const struct yaml_node *map)
{
    const struct yaml_node *node = yaml_get(map, "path");
    if (!node) {
        sections_missing(sections, map, KEYS_CHECKPOINT, "path",
                         "missing: the path of the checkpoints, such as "
                         "\"$PHASED_OUT/model_{step}.pt\"");
        return NULL;
    }
    char *path = scalar_string(sections->scope, node);
    const char *step = path ? strstr(path, "{step}") : NULL;
    if (path && !step)
        yaml_problem(sections_problems(sections), node, "must have {step} once");
    else if (path && strstr(step + 1, "{step}"))
        yaml_problem(sections_problems(sections), node, "has {step} more than once");
    return path;
}

static int64_t sections_save_time(const struct sections *sections, const struct yaml_node *map,
                                  int64_t time_s)
{
    const struct yaml_node *node = yaml_get(map, "save_time");
    uint32_t seconds;
    if (!node)
        return time_s && time_s / 2 < SECTIONS_SAVE_TIME_S ? time_s / 2 : SECTIONS_SAVE_TIME_S;
    if (!scalar_duration(sections->scope, node, &seconds))
        return 0;
    if (time_s && seconds >= time_s)
        yaml_problem(sections_problems(sections), node,
                     "must be less than the time of the phase, so that time is left for the rest");
    return seconds;
}

static void sections_read_checkpoint(const struct sections *sections, const struct key *key,
                                     json_t *phase)
{
    const struct yaml_node *map = sections_map(sections, key, KEYS_CHECKPOINT,
                                               "a map (such as {path: \"$PHASED_OUT/*_{step}*\"})");
    const json_t *time = json_object_get(json_object_get(phase, "resources"), "time_s");
    sections_set(phase, "checkpoint", json_null());
    if (!map)
        return;
    char *path = sections_checkpoint_path(sections, map);
    const char *word = scalar_key_choice(sections->scope, map, KEYS_CHECKPOINT, "stop_signal");
    int64_t save_time_s = sections_save_time(sections, map, json_integer_value(time));
    json_t *keep = sections_whole(sections, map, KEYS_CHECKPOINT, "keep");
    if (json_integer_value(keep) == 1)
        yaml_warning_at(sections_problems(sections), yaml_get(map, "keep"), 0,
                        "two are kept: the newest, and the last good one before it");
    if (json_is_null(keep))
        keep = json_integer(0);
    sections_set(phase, "checkpoint",
                 json_pack("{ss*sssIso}", "path", path, "stop_signal", word ? word : "TERM",
                           "save_time_s", (json_int_t)save_time_s, "keep", keep));
    free(path);
}

/* --- hang, idle ------------------------------------------------------------------------------- */

/* Returns the seconds, 0 for off; JSON null without a value or after a problem. */
static json_t *sections_watch_time(struct scope *scope, const struct yaml_node *node)
{
    char *text = node ? scalar_string(scope, node) : NULL;
    struct error err;
    uint32_t seconds;
    json_t *json = NULL;
    if (text && text_equal(text, "off"))
        json = json_integer(0);
    else if (text && units_parse_duration(text, &seconds, &err) < 0)
        yaml_problem(scope->problems, node, "%s, or off", err.message);
    else if (text && seconds == 0)
        yaml_problem(scope->problems, node, "must be above 0: off switches it off");
    else if (text)
        json = json_integer(seconds);
    free(text);
    return json ? json : json_null();
}

static void sections_read_hang(const struct sections *sections, const struct key *key,
                               json_t *phase)
{
    sections_set(phase, "hang_s",
                 sections_watch_time(sections->scope, sections_node(sections, key)));
}

static void sections_read_idle(const struct sections *sections, const struct key *key,
                               json_t *phase)
{
    json_t *idle = sections_watch_time(sections->scope, sections_node(sections, key));
    sections_set(phase, "idle_s", json_is_null(idle) ? json_integer(SECTIONS_IDLE_S) : idle);
}

/* --- preflight -------------------------------------------------------------------------------- */

/* Without GPUs a preflight finds little. */
static const char *sections_default_preflight(const json_t *phase)
{
    const json_t *resources = json_object_get(phase, "resources");
    return json_integer_value(json_object_get(resources, "gpus")) > 0 ? "quick" : "off";
}

static void sections_read_preflight(const struct sections *sections, const struct key *key,
                                    json_t *phase)
{
    const struct key *level = keys_find(KEYS_PREFLIGHT, "level");
    const struct yaml_node *node = sections_node(sections, key),
                           *observe = yaml_get(node, "observe");
    const char *word = NULL;
    bool is_observed = false;
    if (node && node->kind == YAML_MAP) {
        keys_check(sections_problems(sections), node, KEYS_PREFLIGHT);
        node = yaml_get(node, level->name);
    }
    if (observe) /* a problem is reported, and the phase is dropped */
        (void)scalar_boolean(sections->scope, observe, &is_observed);
    if (node)
        word = scalar_choice(sections->scope, node, level->type.words);
    sections_set(phase, "preflight", json_string(word ? word : sections_default_preflight(phase)));
    sections_set(phase, "preflight_observe", json_boolean(is_observed));
}

/* --- mfu -------------------------------------------------------------------------------------- */

static void sections_read_size(struct scope *scope, const struct yaml_node *map,
                               const struct key *key, json_t *json)
{
    const struct yaml_node *node = yaml_get(map, key->name);
    double size = 0;
    if (!node && !text_equal(key->name, "peak_tflops"))
        yaml_missing(scope->problems, map, key->name,
                     "missing: MFU needs params, layers, width and sequence");
    if (!node || !scalar_number(scope, node, &size))
        return;
    if (!(size >= 1 && size <= 1e15))
        yaml_problem(scope->problems, node, "must be a size from 1 to 1e15");
    else if (json)
        (void)json_object_set_new(json, key->name, json_real(size));
}

/* A map in `defaults` is ignored by phases that cannot use it. */
static bool sections_is_of_defaults(const struct yaml_node *map)
{
    return map->parent && map->parent->key && text_equal(map->parent->key, "defaults");
}

static void sections_read_mfu(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *map = sections_node(sections, key);
    struct spec_problems *problems = sections_problems(sections);
    const json_t *gpus = json_object_get(json_object_get(phase, "resources"), "gpus");
    bool has_none = gpus && json_integer_value(gpus) == 0;
    bool is_map = map && map->kind == YAML_MAP;
    if (map && has_none && !sections_is_of_defaults(map))
        yaml_key_problem(problems, map, "a phase without GPUs has no MFU");
    json_t *sizes = is_map && !has_none ? json_object() : NULL;
    if (map && !is_map)
        yaml_problem(problems, map, "must be a map of params, layers, width and sequence");
    if (is_map)
        keys_check(problems, map, KEYS_MFU);
    const struct key *size = is_map ? keys_next(KEYS_MFU, NULL) : NULL;
    for (; size; size = keys_next(KEYS_MFU, size))
        sections_read_size(sections->scope, map, size, sizes);
    sections_set(phase, "mfu", sizes ? sizes : json_null());
}

/* --- Readers of few lines --------------------------------------------------------------------- */

static void sections_read_notify(const struct sections *sections, const struct key *key,
                                 json_t *phase)
{
    json_t *notify = notify_read(sections->scope, sections_node(sections, key), true);
    if (notify)
        sections_set(phase, key->name, notify);
}

/* Reads true or false; false without the key. A problem is reported, and the phase is dropped. */
static void sections_read_truth(const struct sections *sections, const struct key *key,
                                json_t *phase)
{
    const struct yaml_node *node = sections_node(sections, key);
    bool is_true = false;
    if (node)
        (void)scalar_boolean(sections->scope, node, &is_true);
    sections_set(phase, key->name, json_boolean(is_true));
}

/* Reads a word of the type of the key. Without the key, takes the first word. */
static void sections_read_choice(const struct sections *sections, const struct key *key,
                                 json_t *phase)
{
    const char *word = scalar_key_choice(sections->scope, sections->phase, KEYS_PHASE, key->name);
    sections_set(phase, key->name, json_string(word ? word : key->type.words[0]));
}

static void sections_read_linger(const struct sections *sections, const struct key *key,
                                 json_t *phase)
{
    const struct yaml_node *node = sections_node(sections, key);
    uint32_t linger_s = SECTIONS_LINGER_S;
    if (node) /* a problem is reported, and the phase is dropped */
        (void)scalar_duration(sections->scope, node, &linger_s);
    sections_set(phase, "linger_s", json_integer(linger_s));
}

/* --- All of a phase --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*read)(const struct sections *sections, const struct key *key, json_t *phase);
} sections_readers[] = {
#define PHASE_KEY(name, type, merge, reader, help) {name, reader},
#include "lib/spec/keys.def"
};

void sections_read(const struct sections *sections, json_t *json)
{
    const struct key *key = keys_next(KEYS_PHASE, NULL);
    keys_check(sections_problems(sections), sections->phase, KEYS_PHASE);
    for (size_t i = 0; key; i++, key = keys_next(KEYS_PHASE, key)) {
        if (sections_readers[i].read)
            sections_readers[i].read(sections, key, json);
    }
}
