/* Reading checks. */
#include "lib/spec/checks.h"

#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/expr/expr.h"
#include "lib/protocol/words.h"
#include "lib/spec/keys.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/sections.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"
#include "lib/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum checks_side { CHECKS_LOWER, CHECKS_UPPER };

static const struct {
    const char *key;
    enum checks_side side;
} checks_bounds[] = {
    {"at_least", CHECKS_LOWER},
    {"above", CHECKS_LOWER},
    {"at_most", CHECKS_UPPER},
    {"below", CHECKS_UPPER},
};

enum { CHECKS_BOUNDS = sizeof checks_bounds / sizeof checks_bounds[0] };

/* A remedy names a cause or a check, so no check can have the name of a cause. */
static bool checks_is_cause(const char *name)
{
    return run_cause_parse(name) > CAUSE_NONE || run_outcome_parse(name) == OUTCOME_LOST;
}

static void checks_read_expression(struct scope *scope, const struct yaml_node *node,
                                   const char *key, json_t *check)
{
    if (!node)
        return;
    if (node->kind != YAML_SCALAR)
        yaml_problem(scope->problems, node, "must be an expression");
    else if (scope_check_expression(scope, node))
        (void)json_object_set_new(check, key, json_string(node->text));
}

/* A bound keeps the kind of number that was written: 15 stays 15. */
static json_t *checks_number(struct scope *scope, const struct yaml_node *node, double *ret_number)
{
    if (!scalar_number(scope, node, ret_number))
        return NULL;
    return scope_value(scope, node);
}

static void checks_read_bounds(struct scope *scope, const struct yaml_node *map, json_t *check)
{
    const struct yaml_node *given[2] = {NULL, NULL};
    double numbers[2] = {0, 0};
    bool is_strict = false, are_good = true;
    for (size_t i = 0; i < CHECKS_BOUNDS; i++) {
        const struct yaml_node *node = yaml_get(map, checks_bounds[i].key);
        enum checks_side side = checks_bounds[i].side;
        if (!node)
            continue;
        if (given[side])
            yaml_key_problem(scope->problems, node,
                             "%s is a bound on the same side: give one of the two",
                             given[side]->key);
        json_t *number = checks_number(scope, node, &numbers[side]);
        are_good = are_good && number && !given[side];
        is_strict = is_strict || text_equal(node->key, "above") || text_equal(node->key, "below");
        given[side] = node;
        if (number)
            (void)json_object_set_new(check, node->key, number);
    }
    if (!given[0] || !given[1] || !are_good)
        return;
    if (numbers[0] > numbers[1] || (is_strict && numbers[0] == numbers[1]))
        yaml_problem(scope->problems, map, "no value can be %s %.15g and %s %.15g", given[0]->key,
                     numbers[0], given[1]->key, numbers[1]);
}

/* Reads a window: `50 steps`, `2m`. */
static void checks_read_window(struct scope *scope, const struct yaml_node *node, const char *key,
                               json_t *check)
{
    uint32_t seconds;
    if (!node)
        return;
    char *text = scalar_string(scope, node);
    if (!text)
        return;
    size_t digits = text_digits_size(text);
    const char *unit = text + digits + strspn(text + digits, " ");
    bool is_steps = text_equal(unit, "steps") || text_equal(unit, "step");
    int64_t steps = digits && digits <= 15 ? strtoll(text, NULL, 10) : 0;
    bool is_over = text_equal(key, "over");
    if (digits && !*unit)
        yaml_problem(scope->problems, node, "%.20s of what? Say %.20s steps or %.20ss", text, text,
                     text);
    else if (is_steps && (digits == 0 || digits > 15 || (steps == 0 && is_over)))
        yaml_problem(scope->problems, node, "must be a number of steps");
    else if (is_steps)
        (void)json_object_set_new(check, key, json_pack("{sI}", "steps", (json_int_t)steps));
    else if (units_parse_duration(text, &seconds, NULL) < 0 || (seconds == 0 && is_over))
        yaml_problem(scope->problems, node, "must be a window (such as 50 steps or 2m)");
    else
        (void)json_object_set_new(check, key, json_pack("{si}", "seconds", (int)seconds));
    free(text);
}

static void checks_read_rest(struct scope *scope, const struct yaml_node *map, json_t *check)
{
    const struct yaml_node *advice = yaml_get(map, "advice");
    checks_read_window(scope, yaml_get(map, "over"), "over", check);
    checks_read_window(scope, yaml_get(map, "skip"), "skip", check);
    const char *word = scalar_key_choice(scope, map, KEYS_CHECK, "else");
    if (word)
        (void)json_object_set_new(check, "else", json_string(word));
    char *text = advice ? scalar_string(scope, advice) : NULL;
    if (text)
        (void)json_object_set_new(check, "advice", json_string(text));
    free(text);
}

static bool checks_has_misspelt_bound(const struct yaml_node *map)
{
    for (size_t i = 0; i < CHECKS_BOUNDS; i++) {
        if (keys_is_misspelt(map, KEYS_CHECK, checks_bounds[i].key))
            return true;
    }
    return false;
}

static json_t *checks_read_map(struct scope *scope, const struct yaml_node *map)
{
    const struct yaml_node *condition = yaml_get(map, "condition"), *value = yaml_get(map, "value");
    json_t *check = json_object();
    const struct yaml_node *bound = NULL;
    for (size_t i = 0; i < CHECKS_BOUNDS && !bound; i++)
        bound = yaml_get(map, checks_bounds[i].key);
    keys_check(scope->problems, map, KEYS_CHECK);
    checks_read_expression(scope, condition, "condition", check);
    checks_read_expression(scope, value, "value", check);
    checks_read_bounds(scope, map, check);
    checks_read_rest(scope, map, check);
    if (condition && value)
        yaml_key_problem(scope->problems, condition,
                         "a check has a condition or a value, not both");
    else if (condition && bound)
        yaml_key_problem(scope->problems, bound, "bounds are for a value, not for a condition");
    else if (!condition && !value && !keys_is_misspelt(map, KEYS_CHECK, "value") &&
             !keys_is_misspelt(map, KEYS_CHECK, "condition"))
        yaml_missing(scope->problems, map, "value", "missing: a check has a value or a condition");
    else if (value && !bound && !checks_has_misspelt_bound(map))
        yaml_problem(scope->problems, map,
                     "no bound: a value needs at_least, at_most, above or below");
    return check;
}

/* Guards are judged on the nodes of the run, which know no other phase. There, the name of another
 * phase would mean a metric that never comes, and the guard would never stop a run. */
static void checks_refuse_phases(struct scope *scope, const struct yaml_node *node, const char *who)
{
    struct expr_name *names = NULL;
    struct error err;
    if (!node || node->kind != YAML_SCALAR)
        return;
    int count = expr_list_names(node->text, &names, &err);
    for (int i = 0; i < count; i++) {
        const char *phase = names[i].phase, *name = names[i].name;
        size_t offset = names[i].column ? names[i].column - 1 : 0;
        if (phase[0] && scope_has_before(scope, phase, name))
            yaml_problem_at(scope->problems, node, offset,
                            "%s cannot use other phases: make %s.%s a param (%s: =%s.%s)", who,
                            phase, name, name, phase, name);
        else if (phase[0])
            yaml_problem_at(scope->problems, node, offset,
                            "%s cannot use other phases: %s.%s can only stand in the gate", who,
                            phase, name);
    }
    free(names);
}

/* Whether the reader has read all of the check. A value that refers to a param with a problem fails
 * without a message. */
static bool checks_is_whole(const struct yaml_node *node, const json_t *json)
{
    size_t given = node->kind == YAML_MAP ? 0 : 1;
    for (size_t i = 0; node->kind == YAML_MAP && i < node->count; i++)
        given += node->items[i]->kind != YAML_NULL;
    return json_object_size(json) == given;
}

/* Tries a well-formed check on made-up rows. So a condition that is a number is found now, and not
 * when the phase ends. */
static void checks_try(struct scope *scope, const struct yaml_node *node, const json_t *json)
{
    struct check check;
    struct error err;
    const struct expr_scope names = scope_expr(scope);
    const struct yaml_node *condition = yaml_get(node, "condition"),
                           *value = yaml_get(node, "value");
    if (check_from_json(node->key, json, &check, &err) < 0) {
        yaml_problem(scope->problems, node, "%s", err.message);
        return;
    }
    if (check_try(&check, &names, &err) < 0)
        yaml_problem(scope->problems,
                     value       ? value
                     : condition ? condition
                                 : node,
                     "%s", err.message);
    check_fini(&check);
}

/* Reads one check; returns a new reference. `who` names a check that the nodes judge; NULL: the
 * check is one of a gate. */
static json_t *checks_read_one(struct scope *scope, const struct yaml_node *node, const char *who)
{
    json_t *check = NULL;
    size_t error_count = scope->problems->error_count;
    if (node->kind == YAML_MAP) {
        check = checks_read_map(scope, node);
    } else {
        check = json_object();
        checks_read_expression(scope, node, "condition", check);
    }
    if (who && scope->problems->error_count == error_count) {
        checks_refuse_phases(scope, node->kind == YAML_MAP ? yaml_get(node, "condition") : node,
                             who);
        checks_refuse_phases(scope, yaml_get(node, "value"), who);
    }
    if (scope->problems->error_count == error_count && checks_is_whole(node, check))
        checks_try(scope, node, check);
    return check;
}

json_t *checks_read_alone(struct scope *scope, const struct yaml_node *node, const char *key)
{
    size_t error_count = scope->problems->error_count;
    json_t *check = json_object(), *expression = NULL;
    bool is_value = text_equal(key, "value");
    if (node->kind == YAML_SCALAR)
        checks_read_expression(scope, node, key, check);
    else
        yaml_problem(scope->problems, node, "must be an expression");
    if (scope->problems->error_count == error_count)
        checks_refuse_phases(scope, node, node->key);
    if (is_value)
        (void)json_object_set_new(check, "at_least",
                                  json_integer(0)); /* any bound, to try the value */
    if (scope->problems->error_count == error_count && json_object_get(check, key))
        checks_try(scope, node, check);
    if (scope->problems->error_count == error_count)
        expression = json_incref(json_object_get(check, key));
    json_decref(check);
    return expression;
}

void checks_read_until(const struct sections *sections, const struct key *key, json_t *phase)
{
    static const char *const others[] = {"else", "advice"};
    static const char *const parts[] = {"shard", "join"};
    struct spec_problems *problems = sections->scope->problems;
    const struct yaml_node *node = yaml_get(sections->phase, key->name);
    if (!node)
        return;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (yaml_get(node, others[i]))
            yaml_key_problem(problems, yaml_get(node, others[i]),
                             "until cannot fail, so it has no %s", others[i]);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (yaml_get(sections->phase, parts[i]))
            yaml_key_problem(problems, node, "does not go with %s: parts would be missing",
                             parts[i]);
    (void)json_object_set_new(phase, key->name, checks_read_one(sections->scope, node, "until"));
}

static json_t *checks_read(struct scope *scope, const struct yaml_node *map, const json_t *others)
{
    json_t *checks = json_object();
    map = yaml_map(scope->problems, map, "a map of checks by name");
    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_node *node = map->items[i];
        if (node->kind == YAML_NULL)
            continue;
        bool is_name = scope_check_name(scope->problems, node);
        if (is_name && checks_is_cause(node->key))
            yaml_key_problem(scope->problems, node, "a cause of failures has this name");
        else if (is_name && json_object_get(others, node->key))
            yaml_key_problem(scope->problems, node, "the gate has a check of this name");
        (void)json_object_set_new(checks, node->key,
                                  checks_read_one(scope, node, others ? "a guard" : NULL));
    }
    return checks;
}

void checks_read_gate(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *map = yaml_get(sections->phase, key->name);
    (void)json_object_set_new(phase, key->name, checks_read(sections->scope, map, NULL));
}

void checks_read_guards(const struct sections *sections, const struct key *key, json_t *phase)
{
    const struct yaml_node *map = yaml_get(sections->phase, key->name);
    const json_t *gate = json_object_get(phase, "gate");
    (void)json_object_set_new(phase, key->name, checks_read(sections->scope, map, gate));
}
