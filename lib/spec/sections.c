/* Reading the sections of a phase. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lib/spec/sections.h"

#include "lib/error.h"
#include "lib/spec/checks.h"
#include "lib/spec/gpus.h"
#include "lib/spec/keys.h"
#include "lib/spec/layout.h"
#include "lib/spec/node.h"
#include "lib/spec/notify.h"
#include "lib/spec/options.h"
#include "lib/spec/remedies.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/text.h"
#include "lib/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <pcre2.h>

enum {
    SECTIONS_NODES_MAX = 10000,
    SECTIONS_CPUS_MAX = 4096,
    SECTIONS_KEEP_MAX = 1000000,
    SECTIONS_PATTERN_MAX = 8192,
    SECTIONS_SAVE_TIME_S = 60, /* when it is not said; half of `time` where that is less */
    SECTIONS_LINGER_S = 20,
    SECTIONS_IDLE_S = 600,
};

static void sections_set(json_t *json, const char *key, json_t *value)
{
    (void)json_object_set_new(json, key, value); /* fails only for want of memory or a NULL */
}

static struct spec_problems *sections_problems(const struct sections *sections)
{
    return sections->scope->problems;
}

static void sections_missing(const struct sections *sections, const struct node *map,
                             const struct keys *keys, const char *key, const char *message)
{
    if (!sections->lacks_base && !keys_is_misspelt(map, keys, key))
        node_missing(sections_problems(sections), map, key, "%s", message);
}

/* The map at `key` with its keys checked; NULL when there is none, or no map. */
static const struct node *sections_map(const struct sections *sections, const char *key,
                                       const struct keys *keys, const char *what)
{
    const struct node *map = node_get(sections->phase, key);
    if (!map)
        return NULL;
    if (map->kind != NODE_MAP) {
        node_problem(sections_problems(sections), map, "not %s", what);
        return NULL;
    }
    keys_check(sections_problems(sections), map, keys);
    return map;
}

/* The whole number at `key` of `map`, or JSON null. */
static json_t *sections_whole(const struct sections *sections, const struct node *map,
                              const char *key, int64_t min, int64_t max)
{
    const struct node *node = node_get(map, key);
    int64_t number;
    if (!node || !scalar_whole(sections->scope, node, min, max, &number))
        return json_null();
    return json_integer(number);
}

/* --- resources -------------------------------------------------------------------------------- */

static void sections_read_memory(const struct sections *sections, const struct node *node,
                                 json_t *json)
{
    uint64_t mb;
    struct error err;
    char *text = node ? scalar_string(sections->scope, node) : NULL;
    sections_set(json, "mem_mb", json_null());
    if (!text)
        return;
    if (units_parse_memory(text, &mb, &err) < 0)
        node_problem(sections_problems(sections), node, "%s", err.message);
    else if (mb == 0)
        node_problem(sections_problems(sections), node, "less than 1M");
    else
        sections_set(json, "mem_mb", json_integer((json_int_t)mb));
    free(text);
}

static void sections_read_time(const struct sections *sections, const struct node *map,
                               json_t *json)
{
    const struct node *node = node_get(map, "time");
    uint32_t seconds = 0;
    if (!node && map)
        sections_missing(sections, map, &keys_resources, "time",
                         "missing: the longest that it may run, such as 4h");
    else if (!node && !node_get(sections->phase, "resources"))
        sections_missing(sections, sections->phase, &keys_phase, "resources",
                         "missing: at least the time, such as {time: 4h}");
    else if (node && scalar_duration(sections->scope, node, &seconds) && seconds < 60)
        node_problem(sections_problems(sections), node, "less than 1m, which is Slurm's unit");
    sections_set(json, "time_s", json_integer(seconds));
}

static void sections_read_resources(const struct sections *sections, json_t *phase)
{
    const struct node *map = sections_map(sections, "resources", &keys_resources,
                                          "a map (such as {nodes: 1, gpus: h100:8, time: 4h})");
    const struct node *cpus_per_gpu = node_get(map, "cpus_per_gpu");
    json_t *json = json_object();
    json_t *nodes = sections_whole(sections, map, "nodes", 1, SECTIONS_NODES_MAX);
    sections_set(json, "nodes", json_is_null(nodes) ? json_integer(1) : nodes);
    gpus_read(sections->scope, node_get(map, "gpus"), json);
    sections_set(json, "cpus", sections_whole(sections, map, "cpus", 1, SECTIONS_CPUS_MAX));
    sections_set(json, "cpus_per_gpu",
                 sections_whole(sections, map, "cpus_per_gpu", 1, SECTIONS_CPUS_MAX));
    sections_read_memory(sections, node_get(map, "mem"), json);
    sections_read_time(sections, map, json);
    if (cpus_per_gpu && node_get(map, "cpus"))
        node_key_problem(sections_problems(sections), cpus_per_gpu,
                         "cpus is given too: one of the two");
    else if (cpus_per_gpu && !node_get(map, "gpus"))
        node_key_problem(sections_problems(sections), cpus_per_gpu, "there are no gpus");
    sections_set(phase, "resources", json);
}

/* --- run, workdir, env ------------------------------------------------------------------------ */

static void sections_read_run(const struct sections *sections, json_t *phase)
{
    const struct node *node = node_get(sections->phase, "run");
    if (!node)
        sections_missing(sections, sections->phase, &keys_phase, "run",
                         "missing: what is to be started");
    else if (node->kind != NODE_SCALAR)
        node_problem(sections_problems(sections), node, "not a text: a bash script (run: |)");
    else if (!node->text[strspn(node->text, " \t\r\n")])
        node_problem(sections_problems(sections), node, "empty");
    else
        scope_check_run(sections->scope, node);
    sections_set(phase, "run", json_string(node ? node->text : ""));
}

static void sections_read_workdir(const struct sections *sections, json_t *phase)
{
    const struct node *node = node_get(sections->phase, "workdir");
    char *text = node ? scalar_string(sections->scope, node) : NULL;
    if (text && text[0] != '/' && !text_starts(text, "$PHASED_") && !text_starts(text, "${PHASED_"))
        node_problem(sections_problems(sections), node, "not an absolute path");
    sections_set(phase, "workdir", text ? json_string(text) : json_null());
    free(text);
}

static void sections_read_env(const struct sections *sections, json_t *phase)
{
    const struct node *map = node_get(sections->phase, "env");
    json_t *json = json_object();
    if (map && map->kind != NODE_MAP)
        node_problem(sections_problems(sections), map, "not a map of variables");
    for (size_t i = 0; map && map->kind == NODE_MAP && i < map->count; i++) {
        const struct node *node = map->items[i];
        struct text text = {0};
        if (!scope_is_name(node->key) && !text_starts(node->key, "__"))
            node_key_problem(sections_problems(sections), node, "not the name of a variable");
        else if (text_starts(node->key, "PHASED_"))
            node_key_problem(sections_problems(sections), node,
                             "a variable that is set for every run");
        else if (node->kind != NODE_SCALAR && node->kind != NODE_NULL)
            node_problem(sections_problems(sections), node, "not a text");
        else if (node->kind == NODE_SCALAR && !node->is_cut &&
                 scope_text(sections->scope, node, &text))
            sections_set(json, node->key, json_string(text_string(&text)));
        text_fini(&text);
    }
    sections_set(phase, "env", json);
}

/* --- metrics, progress, checkpoint ------------------------------------------------------------ */

/* Whether the worker will be able to use the pattern. It compiles it alike. */
static bool sections_check_pattern(const struct sections *sections, const struct node *node)
{
    int code;
    PCRE2_SIZE offset;
    uint32_t group_count = 0;
    if (strlen(node->text) > SECTIONS_PATTERN_MAX) {
        node_problem(sections_problems(sections), node, "longer than %d bytes",
                     SECTIONS_PATTERN_MAX);
        return false;
    }
    pcre2_code *pattern = pcre2_compile((PCRE2_SPTR)node->text, PCRE2_ZERO_TERMINATED,
                                        PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
    if (!pattern) {
        PCRE2_UCHAR message[200] = "";
        (void)pcre2_get_error_message(code, message, sizeof message); /* cut is fine */
        node_problem(sections_problems(sections), node, "not a PCRE2 pattern: %s at offset %zu",
                     (const char *)message, (size_t)offset);
        return false;
    }
    (void)pcre2_pattern_info(pattern, PCRE2_INFO_NAMECOUNT, &group_count); /* cannot fail here */
    pcre2_code_free(pattern);
    if (group_count == 0)
        node_problem(sections_problems(sections), node,
                     "no named group: (?<loss>...) makes a metric called loss");
    return group_count > 0;
}

static json_t *sections_metrics_map(const struct sections *sections, const struct node *map)
{
    const struct node *pattern = node_get(map, "pattern"), *file = node_get(map, "file");
    keys_check(sections_problems(sections), map, &keys_metrics);
    if (pattern && file) {
        node_key_problem(sections_problems(sections), file, "pattern is given too: one of the two");
    } else if (pattern && pattern->kind != NODE_SCALAR) {
        node_problem(sections_problems(sections), pattern, "not a text");
    } else if (pattern && !pattern->is_cut && sections_check_pattern(sections, pattern)) {
        return json_pack("{ssss}", "kind", "pattern", "pattern", pattern->text);
    } else if (file) {
        char *path = scalar_string(sections->scope, file);
        json_t *json = path ? json_pack("{ssss}", "kind", "file", "path", path) : NULL;
        free(path);
        return json;
    } else if (!pattern) {
        node_problem(sections_problems(sections), map, "neither pattern nor file");
    }
    return NULL;
}

static void sections_read_metrics(const struct sections *sections, json_t *phase)
{
    const struct node *node = node_get(sections->phase, "metrics");
    json_t *json = NULL;
    if (node && node->kind == NODE_MAP)
        json = sections_metrics_map(sections, node);
    else if (node && (node->kind != NODE_SCALAR || !text_equal(node->text, "auto")))
        node_problem(sections_problems(sections), node,
                     "not auto, {pattern: '...'} or {file: path}");
    sections_set(phase, "metrics", json ? json : json_pack("{ss}", "kind", "auto"));
}

/* A number of `progress`; NULL when it is not there, or not above 0. */
static json_t *sections_progress_number(const struct sections *sections, const struct node *map,
                                        const char *key)
{
    const struct node *node = node_get(map, key);
    double number = 0;
    if (!node || !scalar_number(sections->scope, node, &number))
        return NULL;
    if (number > 0)
        return scope_value(sections->scope, node);
    node_problem(sections_problems(sections), node, "not above 0");
    return NULL;
}

static void sections_read_progress(const struct sections *sections, json_t *phase)
{
    static const char *const sizes[] = {"samples", "tokens"}; /* of a step; absent unless given */
    const struct node *map = sections_map(sections, "progress", &keys_progress,
                                          "a map (such as {step: step, total: 1000})");
    const struct node *step = node_get(map, "step");
    sections_set(phase, "progress", json_null());
    if (!map)
        return;
    char *name = step ? scalar_string(sections->scope, step) : text_format("step");
    if (name && !scope_is_name(name))
        node_problem(sections_problems(sections), step, "not the name of a metric");
    if (!node_get(map, "total"))
        sections_missing(sections, map, &keys_progress, "total", "missing: the step at the end");
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

static char *sections_checkpoint_path(const struct sections *sections, const struct node *map)
{
    const struct node *node = node_get(map, "path");
    if (!node) {
        sections_missing(sections, map, &keys_checkpoint, "path",
                         "missing: what the files are called, such as "
                         "\"$PHASED_OUT/model_{step}.pt\"");
        return NULL;
    }
    char *path = scalar_string(sections->scope, node);
    const char *step = path ? strstr(path, "{step}") : NULL;
    if (path && !step)
        node_problem(sections_problems(sections), node, "no {step} in it");
    else if (path && strstr(step + 1, "{step}"))
        node_problem(sections_problems(sections), node, "{step} stands in it more than once");
    return path;
}

static int64_t sections_save_time(const struct sections *sections, const struct node *map,
                                  int64_t time_s)
{
    const struct node *node = node_get(map, "save_time");
    uint32_t seconds;
    if (!node)
        return time_s && time_s / 2 < SECTIONS_SAVE_TIME_S ? time_s / 2 : SECTIONS_SAVE_TIME_S;
    if (!scalar_duration(sections->scope, node, &seconds))
        return 0;
    if (time_s && seconds >= time_s)
        node_problem(sections_problems(sections), node,
                     "not less than the phase's time, so that nothing else could be done");
    return seconds;
}

static void sections_read_checkpoint(const struct sections *sections, json_t *phase)
{
    static const char *const signals[] = {"TERM", "USR1", "USR2", "INT"};
    const struct node *map = sections_map(sections, "checkpoint", &keys_checkpoint,
                                          "a map (such as {path: \"$PHASED_OUT/*_{step}*\"})");
    const struct node *signal = node_get(map, "stop_signal");
    const json_t *time = json_object_get(json_object_get(phase, "resources"), "time_s");
    sections_set(phase, "checkpoint", json_null());
    if (!map)
        return;
    char *path = sections_checkpoint_path(sections, map);
    const char *word =
        signal ? scalar_choice(sections->scope, signal, signals, sizeof signals / sizeof signals[0])
               : signals[0];
    int64_t save_time_s = sections_save_time(sections, map, json_integer_value(time));
    json_t *keep = sections_whole(sections, map, "keep", 1, SECTIONS_KEEP_MAX);
    if (json_is_null(keep))
        keep = json_integer(0);
    sections_set(phase, "checkpoint",
                 json_pack("{ss*sssIso}", "path", path, "stop_signal", word ? word : signals[0],
                           "save_time_s", (json_int_t)save_time_s, "keep", keep));
    free(path);
}

/* --- hang, idle ------------------------------------------------------------------------------- */

/* The seconds, 0 for off; JSON null where it is not given, or has had a problem. */
static json_t *sections_watch_time(struct scope *scope, const struct node *phase, const char *key)
{
    const struct node *node = node_get(phase, key);
    char *text = node ? scalar_string(scope, node) : NULL;
    struct error err;
    uint32_t seconds;
    json_t *json = NULL;
    if (text && text_equal(text, "off"))
        json = json_integer(0);
    else if (text && units_parse_duration(text, &seconds, &err) < 0)
        node_problem(scope->problems, node, "%s, or off", err.message);
    else if (text && seconds == 0)
        node_problem(scope->problems, node, "not above 0: off switches it off");
    else if (text)
        json = json_integer(seconds);
    free(text);
    return json ? json : json_null();
}

static void sections_read_watch(struct scope *scope, const struct node *phase, json_t *json)
{
    json_t *idle = sections_watch_time(scope, phase, "idle");
    (void)json_object_set_new(json, "hang_s", sections_watch_time(scope, phase, "hang"));
    (void)json_object_set_new(json, "idle_s",
                              json_is_null(idle) ? json_integer(SECTIONS_IDLE_S) : idle);
}

/* --- preflight -------------------------------------------------------------------------------- */

/* Without GPUs there is little that a preflight could find. */
static const char *sections_default_preflight(const json_t *phase)
{
    const json_t *resources = json_object_get(phase, "resources");
    return json_integer_value(json_object_get(resources, "gpus")) > 0 ? "quick" : "off";
}

static void sections_read_preflight(struct scope *scope, const struct node *phase, json_t *json)
{
    static const char *const levels[] = {"off", "quick", "full"};
    const struct node *node = node_get(phase, "preflight"), *level = node;
    const char *word = NULL;
    bool is_observed = false;
    if (node && node->kind == NODE_MAP) {
        const struct node *observe = node_get(node, "observe");
        keys_check(scope->problems, node, &keys_preflight);
        level = node_get(node, "level");
        if (observe)
            (void)scalar_boolean(scope, observe, &is_observed); /* told, and the phase is dropped */
    }
    if (level)
        word = scalar_choice(scope, level, levels, sizeof levels / sizeof levels[0]);
    (void)json_object_set_new(json, "preflight",
                              json_string(word ? word : sections_default_preflight(json)));
    (void)json_object_set_new(json, "preflight_observe", json_boolean(is_observed));
}

/* --- mfu -------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool is_needed;
} sections_sizes[] = {
    {"params", true}, {"layers", true}, {"width", true}, {"sequence", true}, {"peak_tflops", false},
};

static void sections_read_size(struct scope *scope, const struct node *map, size_t i, json_t *json)
{
    const char *name = sections_sizes[i].name;
    const struct node *node = node_get(map, name);
    double size = 0;
    if (!node && sections_sizes[i].is_needed)
        node_missing(scope->problems, map, name,
                     "missing: MFU needs params, layers, width and sequence");
    if (!node || !scalar_number(scope, node, &size))
        return;
    if (!(size >= 1 && size <= 1e15))
        node_problem(scope->problems, node, "not a size from 1 to 1e15");
    else if (json)
        (void)json_object_set_new(json, name, json_real(size));
}

/* What `defaults` says is for the phases that can use it. */
static bool sections_is_of_defaults(const struct node *map)
{
    return map->parent && map->parent->key && text_equal(map->parent->key, "defaults");
}

static void sections_read_mfu(struct scope *scope, const struct node *phase, json_t *json)
{
    const struct node *map = node_get(phase, "mfu");
    const json_t *gpus = json_object_get(json_object_get(json, "resources"), "gpus");
    bool has_none = gpus && json_integer_value(gpus) == 0;
    bool is_map = map && map->kind == NODE_MAP;
    if (map && has_none && !sections_is_of_defaults(map))
        node_key_problem(scope->problems, map, "a phase without GPUs has no MFU");
    json_t *sizes = is_map && !has_none ? json_object() : NULL;
    if (map && !is_map)
        node_problem(scope->problems, map, "not a map of params, layers, width and sequence");
    if (is_map)
        keys_check(scope->problems, map, &keys_mfu);
    for (size_t i = 0; is_map && i < sizeof sections_sizes / sizeof *sections_sizes; i++)
        sections_read_size(scope, map, i, sizes);
    (void)json_object_set_new(json, "mfu", sizes ? sizes : json_null());
}

/* --- All of a phase --------------------------------------------------------------------------- */

static void sections_read_choice(const struct sections *sections, json_t *phase, const char *key,
                                 const char *const words[2])
{
    const struct node *node = node_get(sections->phase, key);
    const char *word = node ? scalar_choice(sections->scope, node, words, 2) : words[0];
    sections_set(phase, key, json_string(word ? word : words[0]));
}

static void sections_read_rest(const struct sections *sections, json_t *phase)
{
    static const char *const promote[] = {"auto", "manual"}, *const on_fail[] = {"hold", "fail"};
    const struct node *nan_ok = node_get(sections->phase, "nan_ok");
    const struct node *linger = node_get(sections->phase, "linger");
    bool is_ok = false;
    uint32_t linger_s = SECTIONS_LINGER_S;
    if (nan_ok)
        (void)scalar_boolean(sections->scope, nan_ok, &is_ok); /* told, and the phase is dropped */
    if (linger)
        (void)scalar_duration(sections->scope, linger, &linger_s); /* the same */
    sections_set(phase, "nan_ok", json_boolean(is_ok));
    sections_read_choice(sections, phase, "promote", promote);
    sections_read_choice(sections, phase, "on_fail", on_fail);
    sections_set(phase, "linger_s", json_integer(linger_s));
}

void sections_read(const struct sections *sections, json_t *json)
{
    keys_check(sections_problems(sections), sections->phase, &keys_phase);
    if (sections->resources)
        sections_set(json, "resources", json_deep_copy(sections->resources));
    else
        sections_read_resources(sections, json);
    sections_set(json, "slurm",
                 sections->slurm ? json_deep_copy(sections->slurm)
                                 : options_read(sections->scope, node_get(sections->phase, "slurm"),
                                                json_object_get(json, "resources")));
    layout_read(sections, json);
    gpus_follow(json_object_get(json, "resources"));
    sections_read_run(sections, json);
    sections_read_workdir(sections, json);
    sections_read_env(sections, json);
    sections_read_metrics(sections, json);
    sections_read_progress(sections, json);
    sections_read_checkpoint(sections, json);
    json_t *gate = checks_read(sections->scope, node_get(sections->phase, "gate"), NULL);
    sections_set(json, "gate", gate);
    sections_set(json, "guards",
                 checks_read(sections->scope, node_get(sections->phase, "guards"), gate));
    json_t *until = checks_read_until(sections->scope, sections->phase);
    if (until)
        sections_set(json, "until", until);
    json_t *notify = notify_read(sections->scope, node_get(sections->phase, "notify"), true);
    if (notify)
        sections_set(json, "notify", notify);
    sections_read_rest(sections, json);
    sections_read_watch(sections->scope, sections->phase, json);
    sections_read_preflight(sections->scope, sections->phase, json);
    sections_read_mfu(sections->scope, sections->phase, json);
    sections_set(json, "remedies",
                 remedies_read(sections->scope, node_get(sections->phase, "remedies"), gate,
                               json_object_get(json, "guards")));
}
