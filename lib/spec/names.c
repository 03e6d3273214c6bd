/* Comparing the names in checks with the metrics that a phase will have. */
#include "lib/spec/names.h"

#include "lib/expr/expr.h"
#include "lib/memory.h"
#include "lib/metrics/pattern.h"
#include "lib/metrics/values.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Metrics that a run has without printing them: the metrics of worker/telemetry, and the facts. */
static const char *const names_measured[] = {
    "gpu_util",     "gpu_util_min",  "gpu_mem_gb", "gpu_power_w", "mfu",
    "tokens_per_s", "samples_per_s", "elapsed",    "step",
};

enum { NAMES_MEASURED = sizeof names_measured / sizeof names_measured[0], NAMES_OF_GPUS = 5 };

struct names {
    struct spec_problems *problems;
    const json_t *params;
    bool has_gpus, has_pattern;
    json_t *groups; /* the metrics of the pattern, as keys of an object */
    const char **known;
    size_t known_count;
};

/* --- What is known ---------------------------------------------------------------------------- */

static void names_init(struct names *names, struct spec_problems *problems, const json_t *json)
{
    const json_t *metrics = json_object_get(json, "metrics");
    const json_t *gpus = json_object_get(json_object_get(json, "resources"), "gpus");
    const char *pattern = json_string_value(json_object_get(metrics, "pattern")), *name;
    json_t *value, *groups = pattern ? pattern_names(pattern, NULL) : NULL;
    *names = (struct names){
        .problems = problems,
        .params = json_object_get(json, "params"),
        .has_gpus = json_integer_value(gpus) > 0,
        .has_pattern = pattern != NULL,
        .groups = groups ? groups : json_object(), /* no pattern, or a reported one */
    };
    names->known = xcalloc(NAMES_MEASURED + json_object_size(names->groups), sizeof *names->known);
    for (size_t i = 0; i < NAMES_MEASURED; i++)
        names->known[names->known_count++] = names_measured[i];
    json_object_foreach(names->groups, name, value) names->known[names->known_count++] = name;
}

static void names_fini(struct names *names)
{
    json_decref(names->groups);
    free(names->known);
}

/* --- What is asked for ------------------------------------------------------------------------ */

static void names_judge(const struct names *names, const struct yaml_node *node, size_t offset,
                        const char *name)
{
    const char *nearest;
    if (json_object_get(names->params, name) || json_object_get(names->groups, name))
        return;
    if (!names->has_gpus && text_is_one_of(name, names_measured, NAMES_OF_GPUS)) {
        yaml_warning_at(names->problems, node, offset,
                        "there are no gpus, so the program must send %s itself", name);
        return;
    }
    if (text_is_one_of(name, names_measured, NAMES_MEASURED))
        return;
    if (!names->has_pattern) {
        nearest = text_next_to(name, names_measured, NAMES_MEASURED);
        if (nearest && strlen(name) > 2)
            yaml_warning_at(names->problems, node, offset,
                            "phased measures no %s (did you mean %s?)", name, nearest);
        return;
    }
    nearest = spec_problems_nearest(names->problems, name, names->known, names->known_count);
    if (nearest)
        yaml_problem_at(names->problems, node, offset,
                        "the pattern of metrics has no group %s (did you mean %s?)", name, nearest);
    else
        yaml_warning_at(
            names->problems, node, offset,
            "the pattern of metrics has no group %s, so the program must send it itself", name);
}

static void names_look_into(const struct names *names, const struct yaml_node *node)
{
    struct expr_name *found = NULL;
    if (!node || node->kind != YAML_SCALAR || node->is_cut)
        return;
    int count = expr_list_names(node->text, &found, NULL);
    for (int i = 0; i < count; i++)
        if (!found[i].phase[0])
            names_judge(names, node, found[i].column ? found[i].column - 1 : 0, found[i].name);
    if (count >= 0)
        free(found);
}

static void names_look_into_check(const struct names *names, const struct yaml_node *check)
{
    names_look_into(names, check);
    names_look_into(names, yaml_get(check, "condition"));
    names_look_into(names, yaml_get(check, "value"));
}

static void names_look_at_progress(const struct names *names, const struct yaml_node *phase,
                                   const json_t *json)
{
    const struct yaml_node *node = yaml_get(yaml_get(phase, "progress"), "step");
    const char *step =
        json_string_value(json_object_get(json_object_get(json, "progress"), "step"));
    char plain[EXTRACT_NAME_MAX + 1];
    if (!node || node->kind != YAML_SCALAR || !step || !names->has_pattern ||
        text_equal(step, "step"))
        return;
    values_name_of(step, plain);
    names_judge(names, node, 0, plain);
}

void names_check(struct spec_problems *problems, const struct yaml_node *phase, const json_t *json)
{
    static const char *const checks[] = {"gate", "guards"}, *const best[] = {"max", "min", "where"};
    struct names names;
    names_init(&names, problems, json);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const struct yaml_node *map = yaml_get(phase, checks[i]);
        for (size_t j = 0; map && map->kind == YAML_MAP && j < map->count; j++)
            names_look_into_check(&names, map->items[j]);
    }
    names_look_into_check(&names, yaml_get(phase, "until"));
    for (size_t i = 0; i < sizeof best / sizeof best[0]; i++)
        names_look_into(&names, yaml_get(yaml_get(phase, "best"), best[i]));
    names_look_at_progress(&names, phase, json);
    names_fini(&names);
}
