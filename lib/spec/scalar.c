/* Reading typed scalars. */
#include "lib/spec/scalar.h"

#include "lib/error.h"
#include "lib/spec/keys.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"
#include "lib/units.h"

#include <inttypes.h>
#include <stdlib.h>

/* Returns the value of `node`. Returns NULL if the node is not a scalar (`what` says what it should
 * be) or after a problem. */
static json_t *scalar_value(struct scope *scope, const struct yaml_node *node, const char *what)
{
    if (node->kind == YAML_SCALAR && !node->is_cut)
        return scope_value(scope, node);
    if (node->kind != YAML_SCALAR)
        yaml_problem(scope->problems, node, "must be %s", what);
    return NULL;
}

bool scalar_number(struct scope *scope, const struct yaml_node *node, double *ret_number)
{
    json_t *value = scalar_value(scope, node, "a number");
    bool is_good = json_is_number(value);
    if (is_good)
        *ret_number = json_number_value(value);
    else if (value)
        yaml_problem(scope->problems, node, "must be a number");
    json_decref(value);
    return is_good;
}

bool scalar_whole(struct scope *scope, const struct yaml_node *node, int64_t min, int64_t max,
                  int64_t *ret_number)
{
    json_t *value = scalar_value(scope, node, "a whole number");
    bool is_good = json_is_integer(value);
    int64_t number = json_integer_value(value);
    if (value && !is_good)
        yaml_problem(scope->problems, node, "must be a whole number");
    if (is_good && number < min) {
        yaml_problem(scope->problems, node, "less than %" PRId64, min);
        is_good = false;
    } else if (is_good && number > max) {
        yaml_problem(scope->problems, node, "more than %" PRId64, max);
        is_good = false;
    }
    if (is_good)
        *ret_number = number;
    json_decref(value);
    return is_good;
}

bool scalar_boolean(struct scope *scope, const struct yaml_node *node, bool *ret_boolean)
{
    json_t *value = scalar_value(scope, node, "true or false");
    bool is_good = json_is_boolean(value);
    if (is_good)
        *ret_boolean = json_is_true(value);
    else if (value)
        yaml_problem(scope->problems, node, "must be true or false");
    json_decref(value);
    return is_good;
}

char *scalar_string(struct scope *scope, const struct yaml_node *node)
{
    struct text text = {0};
    if (node->kind != YAML_SCALAR)
        yaml_problem(scope->problems, node, "must be a text");
    if (node->kind != YAML_SCALAR || node->is_cut || !scope_text(scope, node, &text)) {
        text_fini(&text);
        return NULL;
    }
    if (text.size == 0) {
        yaml_problem(scope->problems, node, "empty");
        text_fini(&text);
        return NULL;
    }
    return text_steal(&text);
}

bool scalar_duration(struct scope *scope, const struct yaml_node *node, uint32_t *ret_seconds)
{
    struct error err;
    char *text = scalar_string(scope, node);
    if (!text)
        return false;
    int status = units_parse_duration(text, ret_seconds, &err);
    if (status < 0)
        yaml_problem(scope->problems, node, "%s", err.message);
    free(text);
    return status == 0;
}

const char *scalar_choice(struct scope *scope, const struct yaml_node *node,
                          const char *const *words)
{
    char *string = scalar_string(scope, node);
    const char *const *found = words;
    while (string && *found && !text_equal(string, *found))
        found++;
    if (string && !*found) {
        struct text list = {0};
        text_add_list(&list, words, (size_t)(found - words), ", ");
        yaml_problem(scope->problems, node, "must be one of %s", text_string(&list));
        text_fini(&list);
    }
    const char *word = string ? *found : NULL;
    free(string);
    return word;
}

bool scalar_key_whole(struct scope *scope, const struct yaml_node *map, enum keys_map keys,
                      const char *name, int64_t *ret_number)
{
    const struct key_type *type = &keys_find(keys, name)->type;
    const struct yaml_node *node = yaml_get(map, name);
    return node && scalar_whole(scope, node, type->least, type->most, ret_number);
}

const char *scalar_key_choice(struct scope *scope, const struct yaml_node *map, enum keys_map keys,
                              const char *name)
{
    const struct yaml_node *node = yaml_get(map, name);
    return node ? scalar_choice(scope, node, keys_find(keys, name)->type.words) : NULL;
}
