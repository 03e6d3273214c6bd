/* Reading `slurm:`, `price:`, `budget:` and `expect:`. */
#include "lib/spec/options.h"

#include "lib/amount.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/spec/dependency.h"
#include "lib/spec/keys.h"
#include "lib/spec/phase.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/sections.h"
#include "lib/spec/slurm_options.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Options of sbatch that have a key of their own in the spec, or that only the daemon sets. */
static const struct {
    const char *name, *instead;
} options_elsewhere[] = {
    {"time", "use resources.time"},
    {"nodes", "use resources.nodes"},
    {"gpus", "use resources.gpus"},
    {"gpus_per_node", "use resources.gpus"},
    {"gpus_per_task", "use resources.gpus; all ranks of a node see all of its GPUs"},
    {"cpus_per_gpu", "use resources.cpus_per_gpu"},
    {"cpus_per_task", "use resources.cpus"},
    {"ntasks", "use launch"},
    {"ntasks_per_node", "use launch"},
    {"job_name", "jobs are named after workflow and phase"},
    {"output", "every rank has a log of its own (phasectl logs)"},
    {"error", "every rank has a log of its own (phasectl logs)"},
    {"open_mode", "every rank has a log of its own (phasectl logs)"},
    {"chdir", "use workdir"},
    {"export", "use env"},
    {"signal", "use checkpoint.stop_signal and checkpoint.save_time"},
    {"requeue", "phased requeues by itself"},
    {"no_requeue", "phased requeues by itself"},
    {"array", "use a matrix or several phases"},
};

enum { OPTIONS_ELSEWHERE = sizeof options_elsewhere / sizeof options_elsewhere[0] };

/* Returns the option that `node` names, or -1 after a problem. */
static int options_find(struct spec_problems *problems, const struct yaml_node *node)
{
    struct error err;
    const char *instead = NULL;
    char *name = slurm_option_spell(node->key);
    for (size_t i = 0; i < OPTIONS_ELSEWHERE; i++)
        instead =
            text_equal(name, options_elsewhere[i].name) ? options_elsewhere[i].instead : instead;
    free(name);
    if (instead) {
        yaml_key_problem(problems, node, "not for slurm: %s", instead);
        return -1;
    }
    int option = slurm_option_find(node->key, &err);
    if (option < 0)
        yaml_key_problem(problems, node, "%s", err.message);
    return option < 0 ? -1 : option;
}

/* Whether each bracket of a list of nodes is closed, and has something in it: n[1-4,7],gpu2. */
static bool options_has_good_brackets(const char *nodes)
{
    bool is_open = false;
    for (const char *at = nodes; *at; at++) {
        if ((*at == '[' && (is_open || at[1] == ']')) || (*at == ']' && !is_open))
            return false;
        is_open = *at == '[' || (is_open && *at != ']');
    }
    return !is_open;
}

/* Checks what Slurm would refuse when the job is submitted, which may be hours later. Before the
 * submission only the form of a relative time can be checked, so here the time starts from any
 * moment. */
static int options_check(enum slurm_option option, const char *text, const json_t *phase,
                         struct error *err)
{
    int64_t number = 0,
            time_s =
                json_integer_value(json_object_get(json_object_get(phase, "resources"), "time_s"));
    int status = slurm_option_read(option, text, 0, &number, err);
    if (status < 0)
        return status;
    if (option == SLURM_OPTION_GRES && strstr(text, "gpu"))
        return error_set(err, -1, "not for slurm: use resources.gpus");
    if (option == SLURM_OPTION_DEPENDENCY && !dependency_is_slurms(text))
        return error_set(err, -1,
                         "Slurm knows jobs by their numbers (afterok:1234); for phases there is "
                         "after");
    if (option == SLURM_OPTION_TIME_MIN && time_s && number > (time_s + 59) / 60)
        return error_set(err, -1, "more than the time of the phase (resources.time)");
    if ((option == SLURM_OPTION_NODELIST || option == SLURM_OPTION_EXCLUDE) &&
        !options_has_good_brackets(text))
        return error_set(err, -1,
                         "a bracket is missing, empty or in another one, unlike in n1,n[3-6,9]");
    return 0;
}

/* Returns the value of the option, or NULL after a problem. */
static json_t *options_value(struct scope *scope, const struct yaml_node *node,
                             enum slurm_option option, const json_t *phase)
{
    struct error err;
    struct text text = {0};
    if (node->kind != YAML_SCALAR) {
        yaml_problem(scope->problems, node, "must be a text or number");
        return NULL;
    }
    json_t *value = node->is_cut ? NULL : scope_value(scope, node);
    if (!value)
        return NULL;
    phase_value_text(value, &text);
    if (options_check(option, text_string(&text), phase, &err) < 0) {
        yaml_problem(scope->problems, node, "%s", err.message);
        json_decref(value);
        value = NULL;
    }
    text_fini(&text);
    return value;
}

/* sbatch takes one amount of memory. `given` are the options that other keys give. */
static void options_check_memory(struct spec_problems *problems, const struct yaml_node *item,
                                 const json_t *options, const json_t *given, const char *name)
{
    static const enum slurm_option memories[] = {SLURM_OPTION_MEM, SLURM_OPTION_MEM_PER_CPU,
                                                 SLURM_OPTION_MEM_PER_GPU};
    const char *other = NULL;
    bool is_memory = false;
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        const char *memory = slurm_option_name(memories[i]);
        if (text_equal(memory, name))
            is_memory = true;
        else if (json_object_get(options, memory))
            other = memory;
    }
    if (json_object_get(given, "mem"))
        other = "resources.mem";
    if (is_memory && other)
        yaml_key_problem(problems, item, "%s is given too: give one of the two", other);
}

/* Slurm refuses a job that asks for a node and excludes the node. Lists with brackets are left to
 * Slurm. */
static void options_check_nodes(struct spec_problems *problems, const struct yaml_node *map,
                                const json_t *options)
{
    const char *asked = json_string_value(json_object_get(options, "nodelist"));
    const char *excluded = json_string_value(json_object_get(options, "exclude"));
    if (!asked || !excluded || strchr(asked, '[') || strchr(excluded, '['))
        return;
    for (char *name; (name = text_take_item(&excluded)); free(name))
        if (*name && text_has_item(asked, name))
            yaml_problem(problems, yaml_get(map, "exclude"), "%s is in nodelist, too", name);
}

static json_t *options_read(struct scope *scope, const struct yaml_node *node, const json_t *phase)
{
    json_t *options = json_object(), *given = phase_spec_options(phase, 1);
    const struct yaml_node *map = yaml_map(scope->problems, node, "a map of sbatch's options");
    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_node *item = map->items[i];
        if (item->kind == YAML_NULL)
            continue;
        int option = options_find(scope->problems, item);
        if (option < 0)
            continue;
        const char *name = slurm_option_name((enum slurm_option)option);
        if (json_object_get(options, name))
            yaml_key_problem(scope->problems, item, "given twice, once with - and once with _");
        options_check_memory(scope->problems, item, options, given, name);
        json_t *value = options_value(scope, item, (enum slurm_option)option, phase);
        if (value)
            (void)json_object_set_new(options, name, value);
    }
    options_check_nodes(scope->problems, map, options);
    json_decref(given);
    return options;
}

void options_read_slurm(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *node = yaml_get(sections->phase, key->name);
    (void)json_object_set_new(phase, key->name,
                              sections->slurm ? json_deep_copy(sections->slurm)
                                              : options_read(sections->scope, node, phase));
}

/* --- price, budget, expect -------------------------------------------------------------------- */

static json_t *options_amount(struct scope *scope, const struct yaml_node *node)
{
    double number;
    if (!scalar_number(scope, node, &number))
        return NULL;
    if (number < 0) {
        yaml_problem(scope->problems, node, "less than 0");
        return NULL;
    }
    return scope_value(scope, node);
}

/* Whether there is a map with a key. Reports any other value as "must be WHAT". */
static bool options_is_map(struct scope *scope, const struct yaml_node *node, const char *what)
{
    bool is_map = node && node->kind == YAML_MAP && node->count > 0;
    if (node && !is_map)
        yaml_problem(scope->problems, node, "must be %s", what);
    return is_map;
}

/* Reads prices such as {h100: 2.5, h200: 4.5}. */
static json_t *options_price_by_gpu(struct scope *scope, const struct yaml_node *map)
{
    static const char *const words[] = {"per_node_hour", "per_gpu_hour"};
    json_t *prices = json_object();
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_node *node = map->items[i];
        const char *nearest = text_nearest(node->key, words, 2);
        if (nearest)
            yaml_key_problem(scope->problems, node, "unknown key (did you mean %s?)", nearest);
        else if (text_starts(node->key, "per_"))
            yaml_key_problem(scope->problems, node, "unknown key");
        else
            (void)json_object_set_new(prices, node->key, options_amount(scope, node));
    }
    return json_pack("{so}", "by_gpu", prices);
}

json_t *options_read_price(struct scope *scope, const struct yaml_node *node)
{
    static const char *const words[] = {"per_node_hour", "per_gpu_hour"};
    if (!options_is_map(scope, node,
                        "a price: {per_node_hour: 98}, {per_gpu_hour: 2.5} or by GPU {h100: 2.5}"))
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const struct yaml_node *amount = yaml_get(node, words[i]);
        if (amount && node->count > 1) {
            yaml_problem(scope->problems, node, "%s does not go with another price", words[i]);
            return NULL;
        }
        if (amount)
            return json_pack("{so*}", words[i], options_amount(scope, amount));
    }
    return options_price_by_gpu(scope, node);
}

json_t *options_read_amounts(struct scope *scope, const struct yaml_node *node)
{
    if (!options_is_map(scope, node, "a budget, such as {usd: 500, gpu_hours: 48}"))
        return NULL;
    keys_check(scope->problems, node, KEYS_BUDGET);
    json_t *amounts = json_object();
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *item = node->items[i];
        json_t *amount = item->kind == YAML_NULL ? NULL : options_amount(scope, item);
        if (amount && json_number_value(amount) <= 0)
            yaml_problem(scope->problems, item, "must be above 0");
        if (amount)
            (void)json_object_set_new(amounts, item->key, amount);
    }
    return amounts;
}

json_t *options_read_budget(struct scope *scope, const struct yaml_node *node, const json_t *price)
{
    json_t *budget = options_read_amounts(scope, node);
    if (json_object_get(budget, "usd") && !price)
        yaml_key_problem(scope->problems, yaml_get(node, "usd"),
                         "dollars need a price, such as price: {per_gpu_hour: 2.5}");
    return budget;
}

static bool options_expected_number(struct scope *scope, const struct yaml_node *node,
                                    double *ret_number)
{
    double number;
    if (!scalar_number(scope, node, &number))
        return false;
    if (number <= 0) {
        yaml_problem(scope->problems, node, "must be above 0");
        return false;
    }
    *ret_number = number;
    return true;
}

/* Reads an amount or a range: `490` or `[245, 490]`. */
static json_t *options_expected_range(struct scope *scope, const struct yaml_node *node)
{
    double from, to;
    bool is_range = node->kind == YAML_LIST && node->count == 2;
    if (node->kind != YAML_SCALAR && !is_range) {
        yaml_problem(scope->problems, node, "must be a number or a range, such as [3, 5]");
        return NULL;
    }
    const struct yaml_node *first = is_range ? node->items[0] : node;
    const struct yaml_node *last = is_range ? node->items[1] : node;
    if (!options_expected_number(scope, first, &from) || !options_expected_number(scope, last, &to))
        return NULL;
    if (from > to) {
        yaml_problem(scope->problems, node, "the first number is larger than the second");
        return NULL;
    }
    return json_pack("[o, o]", scope_value(scope, first), scope_value(scope, last));
}

json_t *options_read_expect(struct scope *scope, const struct yaml_node *node, const json_t *price)
{
    if (!options_is_map(scope, node, "an expectation, such as {hours: [3, 5], usd: 490}"))
        return NULL;
    keys_check(scope->problems, node, KEYS_EXPECT);
    json_t *expect = json_object();
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        const struct yaml_node *item = yaml_get(node, amount_key(i));
        json_t *range = item ? options_expected_range(scope, item) : NULL;
        if (item && i == AMOUNT_USD && !price)
            yaml_key_problem(scope->problems, item,
                             "dollars need a price, such as price: {per_gpu_hour: 2.5}");
        if (range)
            (void)json_object_set_new(expect, amount_key(i), range);
    }
    if (json_object_size(expect) > 0)
        return expect;
    json_decref(expect);
    return NULL;
}

static void options_check_type(struct spec_problems *problems, const struct yaml_node *node,
                               const char *type, const json_t *prices, bool counts_dollars)
{
    const char *words[32] = {0}, *key;
    size_t count = 0;
    json_t *item;
    if (type && json_object_get(prices, type))
        return;
    json_object_foreach((json_t *)prices, key, item)
    {
        if (count < sizeof words / sizeof *words)
            words[count++] = key;
    }
    const char *nearest = type ? text_nearest(type, words, count) : NULL;
    char *hint = nearest ? text_format(" (`price` has %s)", nearest) : xstrdup("");
    char *what = type ? text_format("there is no price for %s%s", type, hint)
                      : text_format("the GPUs have no type, but the price is by type");
    (counts_dollars ? yaml_key_problem : yaml_key_warning)(
        problems, node, "%s: %s", what,
        counts_dollars ? "the budget could not be counted" : "its cost is not known");
    free(what);
    free(hint);
}

void options_check_price(struct spec_problems *problems, const struct yaml_node *node,
                         const json_t *resources, const json_t *price, bool counts_dollars)
{
    const json_t *prices = json_object_get(price, "by_gpu"), *alternative;
    const json_t *alternatives = json_object_get(resources, "alternatives");
    const struct yaml_node *gpus = yaml_get(node, "gpus");
    size_t i;
    if (json_object_size(prices) == 0 || !gpus ||
        json_integer_value(json_object_get(resources, "gpus")) == 0)
        return;
    json_array_foreach(alternatives, i, alternative) options_check_type(
        problems, gpus, json_string_value(json_object_get(alternative, "gpu_type")), prices,
        counts_dollars);
    if (json_array_size(alternatives) == 0)
        options_check_type(problems, gpus,
                           json_string_value(json_object_get(resources, "gpu_type")), prices,
                           counts_dollars);
}
