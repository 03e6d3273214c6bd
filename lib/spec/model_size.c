/* Four sizes of a transformer, all of which the formula needs; and what a GPU can do. */
#include "lib/spec/model_size.h"

#include "lib/spec/keys.h"
#include "lib/spec/node.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    bool is_needed;
} model_sizes[] = {
    {"params", true}, {"layers", true}, {"width", true}, {"sequence", true}, {"peak_tflops", false},
};

static void model_size_read_one(struct scope *scope, const struct node *map, size_t i, json_t *json)
{
    const char *name = model_sizes[i].name;
    const struct node *node = node_get(map, name);
    double size = 0;
    if (!node && model_sizes[i].is_needed)
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
static bool model_size_is_default(const struct node *map)
{
    return map->parent && map->parent->key && strcmp(map->parent->key, "defaults") == 0;
}

void model_size_read(struct scope *scope, const struct node *phase, json_t *json)
{
    const struct node *map = node_get(phase, "mfu");
    const json_t *gpus = json_object_get(json_object_get(json, "resources"), "gpus");
    bool has_none = gpus && json_integer_value(gpus) == 0;
    bool is_map = map && map->kind == NODE_MAP;
    if (map && has_none && !model_size_is_default(map))
        node_key_problem(scope->problems, map, "a phase without GPUs has no MFU");
    json_t *sizes = is_map && !has_none ? json_object() : NULL;
    if (map && !is_map)
        node_problem(scope->problems, map, "not a map of params, layers, width and sequence");
    if (is_map)
        keys_check(scope->problems, map, &keys_mfu);
    for (size_t i = 0; is_map && i < sizeof model_sizes / sizeof *model_sizes; i++)
        model_size_read_one(scope, map, i, sizes);
    (void)json_object_set_new(json, "mfu", sizes ? sizes : json_null());
}
