/* Reading remedies. */
#include "lib/spec/remedies.h"

#include "lib/error.h"
#include "lib/expr/expr.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/spec/keys.h"
#include "lib/spec/phase.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/sections.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- What a remedy is for --------------------------------------------------------------------- */

static void remedies_unknown(struct scope *scope, const struct yaml_node *node, const json_t *gate,
                             const json_t *guards)
{
    const char *causes[CAUSE_COUNT];
    size_t cause_count = run_cause_list(run_cause_has_remedy, causes), count = cause_count;
    const char **names =
        xcalloc(count + json_object_size(gate) + json_object_size(guards), sizeof *names);
    const char *name;
    json_t *check;
    struct text list = {0};
    memcpy(names, causes, count * sizeof *names);
    json_object_foreach((json_t *)gate, name, check) names[count++] = name;
    json_object_foreach((json_t *)guards, name, check) names[count++] = name;
    const char *nearest = spec_problems_nearest(scope->problems, node->key, names, count);
    text_add_list(&list, causes, cause_count, ", ");
    free(names);
    if (nearest)
        yaml_key_problem(scope->problems, node,
                         "must be a cause or a check of this phase (did you mean %s?)", nearest);
    else
        yaml_key_problem(scope->problems, node,
                         "must be a cause (%s), or a guard or gate check of this phase",
                         text_string(&list));
    text_fini(&list);
}

static void remedies_check_key(struct scope *scope, const struct yaml_node *node,
                               const json_t *gate, const json_t *guards)
{
    const json_t *check = json_object_get(gate, node->key);
    if (!check)
        check = json_object_get(guards, node->key);
    const char *otherwise = json_string_value(json_object_get(check, "else"));
    int cause = run_cause_parse(node->key);
    if (cause >= 0 && run_cause_has_remedy((enum run_cause)cause))
        return;
    if (cause == CAUSE_GUARD)
        yaml_key_problem(scope->problems, node, "use the name of the guard");
    else if (cause == CAUSE_LAUNCH || run_outcome_parse(node->key) == OUTCOME_LOST)
        yaml_key_problem(scope->problems, node,
                         "params do not cause this: phased runs the phase again by itself");
    else if (!check)
        remedies_unknown(scope, node, gate, guards);
    else if (otherwise && text_equal(otherwise, "warn"))
        yaml_key_problem(scope->problems, node,
                         "this check only warns (else: warn), so it needs no remedy");
}

/* --- One remedy ------------------------------------------------------------------------------- */

/* Whether the text is an expression that can be computed. A single word such as `slow` is probably
 * a text without its quotes. */
static bool remedies_is_expression(struct scope *scope, const struct yaml_node *node)
{
    if (node->text[0] == '=') {
        yaml_problem(scope->problems, node, "an expression stands here without =");
        return false;
    }
    if (scope_is_name(node->text) && !scope_has_param(scope, node->text)) {
        yaml_problem(scope->problems, node,
                     "no param is called %s (a text has quotes inside of quotes: \"'%s'\")",
                     node->text, node->text);
        return false;
    }
    return scope_check_params(scope, node);
}

/* The new value of a param: a number, true, false, or an expression as text; a new reference. NULL
 * after a problem. */
static json_t *remedies_read_value(struct scope *scope, const struct yaml_node *node)
{
    if (!scope_has_param(scope, node->key)) {
        scope_report_param(scope, node);
        return NULL;
    }
    if (node->kind != YAML_SCALAR) {
        yaml_problem(scope->problems, node, "must be a number or an expression");
        return NULL;
    }
    if (node->is_cut)
        return NULL; /* lib/spec/yaml.c has reported it */
    json_t *value = yaml_value(node);
    bool is_number = node->is_plain && !json_is_string(value);
    if (is_number || remedies_is_expression(scope, node))
        return value;
    json_decref(value);
    return NULL;
}

static json_t *remedies_read_set(struct scope *scope, const struct yaml_node *map)
{
    json_t *set = json_object();
    map = yaml_map(scope->problems, map, "a map of params");
    for (size_t i = 0; map && i < map->count; i++) {
        json_t *value =
            map->items[i]->kind == YAML_NULL ? NULL : remedies_read_value(scope, map->items[i]);
        if (value)
            (void)json_object_set_new(set, map->items[i]->key, value);
    }
    return set;
}

/* A param cannot say how often it may be changed. */
static bool remedies_is_fixed(struct scope *scope, const struct yaml_node *node)
{
    bool refers = node->kind == YAML_SCALAR && strchr(node->text, '$');
    if (refers)
        yaml_problem(scope->problems, node, "no param can stand here");
    return !refers;
}

static json_t *remedies_read_one(struct scope *scope, const struct yaml_node *map)
{
    const struct yaml_node *set = yaml_get(map, "set"), *times = yaml_get(map, "times");
    const struct yaml_node *resume = yaml_get(map, "resume");
    int64_t count = 1;
    const char *word = NULL;
    if (!keys_read_map(scope->problems, map, KEYS_REMEDY,
                       "a remedy (such as {set: {batch: batch / 2}, times: 2})"))
        return json_object();
    if (!set && !resume && !keys_is_misspelt(map, KEYS_REMEDY, "set"))
        yaml_missing(scope->problems, map, "set", "missing: the params to change");
    if (times && remedies_is_fixed(scope, times))
        (void)scalar_key_whole(scope, map, KEYS_REMEDY, "times",
                               &count); /* a problem is reported */
    if (resume && remedies_is_fixed(scope, resume))
        word = scalar_key_choice(scope, map, KEYS_REMEDY, "resume");
    return json_pack("{s:o, s:I, s:s}", "set", remedies_read_set(scope, set), "times",
                     (json_int_t)count, "resume",
                     word ? word : remedy_resume_name(REMEDY_CHECKPOINT));
}

static json_t *remedies_read_list(struct scope *scope, const struct yaml_node *node)
{
    json_t *list = json_array();
    if (node->kind != YAML_LIST)
        (void)json_array_append_new(list, remedies_read_one(scope, node));
    else if (node->count == 0)
        yaml_problem(scope->problems, node, "empty");
    for (size_t i = 0; node->kind == YAML_LIST && i < node->count; i++)
        (void)json_array_append_new(list, remedies_read_one(scope, node->items[i]));
    return list;
}

void remedies_read(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *map =
        yaml_map(sections->scope->problems, yaml_get(sections->phase, key->name),
                 "a map of remedies by cause or check");
    json_t *remedies = json_object();
    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_node *node = map->items[i];
        if (node->kind == YAML_NULL)
            continue;
        remedies_check_key(sections->scope, node, json_object_get(phase, "gate"),
                           json_object_get(phase, "guards"));
        (void)json_object_set_new(remedies, node->key, remedies_read_list(sections->scope, node));
    }
    (void)json_object_set_new(phase, key->name, remedies);
}

/* --- Computing -------------------------------------------------------------------------------- */

/* A whole result of whole params is whole, as for derived params. */
static bool remedies_uses_real(const json_t *params, const char *expression)
{
    struct expr_name *names = NULL;
    int count = expr_list_names(expression, &names, NULL);
    bool has_real = false;
    for (int i = 0; i < count; i++)
        has_real = has_real || json_is_real(json_object_get(params, names[i].name));
    if (count >= 0)
        free(names);
    return has_real;
}

static int remedies_compute_one(const json_t *params, const char *name, const json_t *given,
                                json_t **ret_value, struct error *err)
{
    const struct expr_scope scope = {.own = {.params = params}};
    const char *expression = json_string_value(given);
    json_t *value = NULL;
    if (!expression) {
        *ret_value = json_deep_copy(given);
        return 0;
    }
    int status = expr_compute(expression, &scope, &value, err);
    if (status < 0) {
        err->code = -EINVAL;
        return error_prefix(err, "%s", name);
    }
    if (json_is_integer(value) && remedies_uses_real(params, expression)) {
        json_t *real = json_real((double)json_integer_value(value));
        json_decref(value);
        value = real;
    }
    if (json_is_string(value) && json_string_value(value)[0] == '=') {
        json_decref(value);
        return error_set(err, -EINVAL, "%s: the value of a param cannot begin with =", name);
    }
    *ret_value = value;
    return 0;
}

int remedies_compute(const json_t *params, const json_t *set, json_t **ret_values,
                     struct error *err)
{
    json_t *values = json_object(), *given, *value = NULL;
    const char *name;
    json_object_foreach((json_t *)set, name, given)
    {
        int status = remedies_compute_one(params, name, given, &value, err);
        if (status < 0) {
            json_decref(values);
            return status;
        }
        (void)json_object_set_new(values, name, value);
    }
    *ret_values = values;
    return 0;
}

void remedies_changes_text(const json_t *changes, struct text *text)
{
    const json_t *change;
    size_t i;
    json_array_foreach(changes, i, change)
    {
        text_addf(text, "%s%s ", i ? ", " : "",
                  json_string_value(json_object_get(change, "param")));
        phase_value_text(json_object_get(change, "from"), text);
        text_add(text, " → ");
        phase_value_text(json_object_get(change, "to"), text);
    }
    if (json_array_size(changes) == 0)
        text_add(text, "the same params");
}
