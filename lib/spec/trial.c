/* Resolving a phase again with other params. */
#include "lib/spec/trial.h"

#include "lib/error.h"
#include "lib/spec/colocate.h"
#include "lib/spec/overrides.h"
#include "lib/spec/phases.h"
#include "lib/spec/remedies.h"
#include "lib/spec/scope.h"
#include "lib/spec/sections.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const struct yaml_node *trial_params(const struct trial *trial, const json_t *changes)
{
    struct yaml_node *params = yaml_copy_map(trial->arena, trial->params);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)changes, name, value)
    {
        struct yaml_node *param = overrides_param(trial->arena, name, value);
        param->parent = trial->params;
        yaml_replace(trial->arena, params, param);
    }
    return params;
}

static char *trial_first_problem(const struct spec_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct spec_problem *problem = &problems->items[i];
        if (problem->severity == SPEC_ERROR)
            return text_format("%s: %s", problem->path, problem->message);
    }
    return NULL;
}

bool trial_run(const struct trial *trial, const json_t *changes, json_t **ret_phase,
               char **ret_problem)
{
    size_t nodes = 0, bytes = 0;
    *ret_problem = NULL;
    yaml_measure(trial->entry->node, &nodes, &bytes);
    *trial->nodes += nodes;
    if (*trial->nodes > TRIAL_NODES_MAX) {
        *ret_problem =
            text_format("not tried: the file has too many remedies and entries of by_gpu");
        return false;
    }
    struct spec_problems problems = {0}, ignored = {0}; /* problems of params that are replaced */
    struct scope scope, written;
    json_t *json = json_object();
    scope_init(&scope, &problems, trial->expanded, trial_params(trial, changes), trial->before,
               trial->before_count);
    scope_init(&written, &ignored, trial->expanded, trial->written, trial->before,
               trial->before_count);
    (void)json_object_set_new(json, "name", json_string(trial->entry->name));
    (void)json_object_set_new(json, "params", scope_params(&scope));
    struct sections sections = {.scope = &scope, .written = &written, .phase = trial->entry->node};
    colocate_take_over(trial->entry, trial->beside, &sections);
    sections_read(&sections, json);
    colocate_settle(trial->entry, json, trial->beside, &problems);
    scope_fini(&scope);
    scope_fini(&written);
    spec_problems_fini(&ignored);
    *ret_problem = trial_first_problem(&problems);
    spec_problems_fini(&problems);
    if (*ret_problem)
        json_decref(json);
    else
        *ret_phase = json;
    return !*ret_problem;
}

/* --- Remedies --------------------------------------------------------------------------------- */

/* One remedy, and the params as the remedies before it have left them. */
struct trial_step {
    const struct trial *trial;
    const struct yaml_node *node; /* the node of the remedy */
    json_t *changes;              /* the changes of all remedies so far */
    json_t *params;               /* the params with these changes */
    int64_t time, times;          /* the first of two times */
};

/* A batch of 12 that is halved three times is 1.5, which no program accepts. */
static void trial_warn_of_fractions(const struct trial_step *step, const json_t *params)
{
    const char *name;
    json_t *before;
    json_object_foreach(step->params, name, before)
    {
        const json_t *after = json_object_get(params, name);
        const struct yaml_node *set = yaml_get(yaml_get(step->node, "set"), name);
        if (set && json_is_integer(before) && json_is_real(after) &&
            json_real_value(after) != floor(json_real_value(after)))
            yaml_key_warning(step->trial->problems, set,
                             "%" JSON_INTEGER_FORMAT " becomes %.6g, which is not whole",
                             json_integer_value(before), json_real_value(after));
    }
}

/* Takes a remedy once. Returns false after a problem: then the remedies after it are not tried. */
static bool trial_take_once(struct trial_step *step, const json_t *set)
{
    struct spec_problems *problems = step->trial->problems;
    json_t *values = NULL, *phase = NULL;
    char *problem = NULL;
    struct error err;
    if (remedies_compute(step->params, set, &values, &err) < 0) {
        yaml_problem(problems, step->node, "cannot be applied (%" PRId64 " of %" PRId64 "): %s",
                     step->time, step->times, err.message);
        return false;
    }
    (void)json_object_update(step->changes, values);
    json_decref(values);
    if (!trial_run(step->trial, step->changes, &phase, &problem)) {
        yaml_problem(problems, step->node,
                     "impossible when it is applied (%" PRId64 " of %" PRId64 "): %.300s",
                     step->time, step->times, problem);
        free(problem);
        return false;
    }
    json_t *params = json_incref(json_object_get(phase, "params"));
    json_decref(phase);
    trial_warn_of_fractions(step, params);
    json_decref(step->params);
    step->params = params;
    return true;
}

static void trial_take_list(const struct trial *trial, const struct yaml_node *node,
                            const json_t *list, json_t *params)
{
    struct trial_step step = {
        .trial = trial, .changes = json_object(), .params = json_incref(params)};
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < json_array_size(list); i++) {
        const json_t *remedy = json_array_get(list, i);
        step.times = json_integer_value(json_object_get(remedy, "times"));
        step.node = node->kind == YAML_LIST ? node->items[i] : node;
        for (step.time = 1; goes_on && step.time <= step.times; step.time++)
            goes_on = trial_take_once(&step, json_object_get(remedy, "set"));
    }
    json_decref(step.changes);
    json_decref(step.params);
}

void trial_remedies(const struct trial *trial, const struct yaml_node *map, const json_t *json)
{
    const json_t *remedies = json_object_get(json, "remedies");
    for (size_t i = 0; map && map->kind == YAML_MAP && i < map->count; i++) {
        const json_t *list = json_object_get(remedies, map->items[i]->key);
        if (list)
            trial_take_list(trial, map->items[i], list, json_object_get(json, "params"));
    }
}
