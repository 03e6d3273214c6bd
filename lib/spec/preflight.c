/* A level, or a map of a level and whether a failure only is reported. */
#include "lib/spec/preflight.h"

#include "lib/spec/keys.h"
#include "lib/spec/node.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"

#include <stdbool.h>

/* Without GPUs there is little that a preflight could find. */
static const char *preflight_default(const json_t *phase)
{
    const json_t *resources = json_object_get(phase, "resources");
    return json_integer_value(json_object_get(resources, "gpus")) > 0 ? "quick" : "off";
}

void preflight_read(struct scope *scope, const struct node *phase, json_t *json)
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
                              json_string(word ? word : preflight_default(json)));
    (void)json_object_set_new(json, "preflight_observe", json_boolean(is_observed));
}
