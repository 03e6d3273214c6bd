/* Trying phases out. */
#include "lib/spec/trial.h"

#include "lib/spec/colocate.h"
#include "lib/spec/node.h"
#include "lib/spec/overrides.h"
#include "lib/spec/phases.h"
#include "lib/spec/scope.h"
#include "lib/spec/sections.h"
#include "lib/text.h"

static const struct node *trial_params(const struct trial *trial, const json_t *changes)
{
    struct node *params = node_copy_map(trial->arena, trial->params);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)changes, name, value)
    {
        struct node *param = overrides_param(trial->arena, name, value);
        param->parent = trial->params;
        node_replace(trial->arena, params, param);
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
    node_measure(trial->entry->node, &nodes, &bytes);
    *trial->nodes += nodes;
    if (*trial->nodes > TRIAL_NODES_MAX) {
        *ret_problem = text_format("too much to try out in one file");
        return false;
    }
    struct spec_problems problems = {0}, unheard = {0}; /* of params that are replaced */
    struct scope scope, written;
    json_t *json = json_object();
    scope_init(&scope, &problems, trial->expanded, trial_params(trial, changes), trial->before,
               trial->before_count);
    scope_init(&written, &unheard, trial->expanded, trial->written, trial->before,
               trial->before_count);
    (void)json_object_set_new(json, "name", json_string(trial->entry->name));
    (void)json_object_set_new(json, "params", scope_params(&scope));
    struct sections sections = {.scope = &scope, .written = &written, .phase = trial->entry->node};
    colocate_take_over(trial->entry, trial->beside, &sections);
    sections_read(&sections, json);
    colocate_settle(trial->entry, json, trial->beside, &problems);
    scope_fini(&scope);
    scope_fini(&written);
    spec_problems_fini(&unheard);
    *ret_problem = trial_first_problem(&problems);
    spec_problems_fini(&problems);
    if (*ret_problem)
        json_decref(json);
    else
        *ret_phase = json;
    return !*ret_problem;
}
