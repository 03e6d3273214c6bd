/* Resolving phases by GPU. */
#include "lib/spec/by_gpu.h"

#include "lib/spec/keys.h"
#include "lib/spec/matrix.h"
#include "lib/spec/overlay.h"
#include "lib/spec/overrides.h"
#include "lib/spec/phases.h"
#include "lib/spec/trial.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BY_GPU_NAME_MAX = 64 };

/* Whether this member of a resolved phase can differ between GPUs. The input of `shard` can differ,
 * too, through a param, because the node splits the file. */
static bool by_gpu_can_differ(const char *member)
{
    for (const struct key *key = keys_next(KEYS_PHASE, NULL); key;
         key = keys_next(KEYS_PHASE, key)) {
        const char *unit = text_starts(member, key->name) ? member + strlen(key->name) : NULL;
        if (key->merge == KEY_BY_GPU && unit && (!unit[0] || text_equal(unit, "_s")))
            return true;
    }
    return text_equal(member, "shard");
}

static bool by_gpu_is_name(const char *name)
{
    size_t size = strlen(name);
    return size <= BY_GPU_NAME_MAX && isalnum((unsigned char)name[0]) &&
           text_name_size(name, " _-.") == size;
}

/* Checks one entry of by_gpu. Returns false when there is nothing to put over the phase. */
static bool by_gpu_check(struct spec_problems *problems, const struct yaml_node *member)
{
    size_t error_count = problems->error_count;
    if (!by_gpu_is_name(member->key))
        yaml_key_problem(problems, member,
                         "must be the model of a GPU (h100) or its memory (80GB)");
    else if (strlen(member->key) <= 3 && !member->key[text_digits_size(member->key)])
        yaml_key_problem(problems, member, "%.20s of what? Memory has a unit (%.20sGB)",
                         member->key, member->key);
    else if (!strpbrk(member->key, "0123456789"))
        yaml_key_warning(problems, member,
                         "is %.64s a model of GPUs? Nearly all models have a number", member->key);
    if (!yaml_map(problems, member, "a map of differences, such as {params: {batch: 64}}"))
        return false;
    for (size_t i = 0; i < member->count; i++) {
        const struct yaml_node *node = member->items[i];
        const struct key *key = keys_find(KEYS_PHASE, node->key);
        if (key && key->merge != KEY_BY_GPU)
            yaml_key_problem(problems, node,
                             "cannot differ by GPU: phased needs it before the job has a GPU");
    }
    if (problems->error_count == error_count)
        keys_check(problems, member, KEYS_PHASE);
    return problems->error_count == error_count;
}

/* Returns the members of `phase` that differ from those of `json`; NULL after a problem. */
static json_t *by_gpu_difference(const struct trial *trial, const struct yaml_node *member,
                                 const json_t *json, const json_t *phase)
{
    json_t *difference = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)phase, name, value)
    {
        if (json_equal(value, json_object_get(json, name)))
            continue;
        if (by_gpu_can_differ(name)) {
            (void)json_object_set(difference, name, value);
            continue;
        }
        yaml_key_problem(trial->problems, member,
                         "its params change %s, which phased needs before the job has a GPU", name);
        json_decref(difference);
        return NULL;
    }
    return difference;
}

/* A param that nothing uses is probably misspelt, as among the params of the phase. */
static void by_gpu_warn_of_unused(const struct trial *trial, const struct yaml_node *member,
                                  const json_t *json)
{
    const struct yaml_node *params = yaml_get(member, "params");
    for (size_t i = 0; params && params->kind == YAML_MAP && i < params->count; i++) {
        const struct yaml_node *node = params->items[i];
        if (node->kind == YAML_SCALAR && !node->is_used &&
            !json_object_get(json_object_get(json, "params"), node->key))
            yaml_key_warning(trial->problems, node, "nothing uses it: run has no $%s", node->key);
    }
}

/* Warns of an entry that fits none of the types of GPUs that the phase asks for. */
static void by_gpu_warn_of_type(const struct trial *trial, const struct yaml_node *member,
                                const json_t *resources)
{
    const json_t *alternatives = json_object_get(resources, "alternatives"), *alternative;
    const char *type = json_string_value(json_object_get(resources, "gpu_type"));
    struct text types = {0};
    size_t i;
    bool may_fit = !type || overlay_may_fit_type(member->key, type);
    text_add(&types, type ? type : "");
    json_array_foreach(alternatives, i, alternative)
    {
        const char *other = json_string_value(json_object_get(alternative, "gpu_type"));
        may_fit |= !other || overlay_may_fit_type(member->key, other);
        if (i > 0) /* the first alternative has this type */
            text_addf(&types, " or %s", other ? other : "");
    }
    if (!may_fit)
        yaml_key_warning(trial->problems, member,
                         "no GPU of this phase is such a model: gpus is %s", text_string(&types));
    text_fini(&types);
}

static json_t *by_gpu_read_member(const struct trial *trial, const struct overrides *overrides,
                                  struct yaml_node *member, const json_t *json)
{
    struct phases_entry entry = *trial->entry;
    struct yaml_node *without = yaml_copy_map(trial->arena, entry.node);
    struct trial laid = *trial;
    json_t *phase = NULL, *difference = NULL;
    char *problem = NULL;
    yaml_remove(without, "by_gpu");
    entry.node = yaml_merge(trial->arena, without, member, trial->problems);
    matrix_lay(trial->arena, &entry);
    laid.entry = &entry;
    laid.params = overrides_apply(overrides, trial->arena, &entry);
    laid.written = yaml_get(entry.node, "params");
    if (!laid.params)
        laid.params = yaml_new(trial->arena, YAML_MAP);
    if (laid.params->kind != YAML_MAP)
        yaml_problem(trial->problems, laid.params, "must be a map of params");
    else if (!trial_run(&laid, NULL, &phase, &problem))
        yaml_key_problem(trial->problems, member, "impossible: %.300s", problem);
    else
        difference = by_gpu_difference(trial, member, json, phase);
    if (difference)
        trial_remedies(&laid, yaml_get(entry.node, "remedies"), phase);
    free(problem);
    json_decref(phase);
    return difference ? json_pack("{s:s, s:o}", "match", member->key, "phase", difference) : NULL;
}

json_t *by_gpu_read(const struct trial *trial, const struct overrides *overrides,
                    const json_t *json)
{
    const struct yaml_node *map = yaml_map(trial->problems, yaml_get(trial->entry->node, "by_gpu"),
                                           "a map by GPU, such as {h100: {params: ...}}");
    const struct yaml_node *own = yaml_get(trial->entry->written, "by_gpu");
    const json_t *gpus = json_object_get(json_object_get(json, "resources"), "gpus");
    json_t *list = json_array();
    /* An entry of `defaults` is ignored by phases without GPUs. */
    bool has_gpus = json_integer_value(gpus) > 0;
    if (map && own && !has_gpus)
        yaml_key_problem(trial->problems, own, "there are no gpus");
    for (size_t i = 0; map && has_gpus && i < map->count; i++) {
        struct yaml_node *member = map->items[i];
        if (member->kind == YAML_NULL || !by_gpu_check(trial->problems, member))
            continue;
        json_t *read = by_gpu_read_member(trial, overrides, member, json);
        if (read)
            (void)json_array_append_new(list, read);
        if (read && own)
            by_gpu_warn_of_unused(trial, member, json);
        if (read && yaml_get(own, member->key))
            by_gpu_warn_of_type(trial, member, json_object_get(json, "resources"));
    }
    return list;
}

json_t *by_gpu_varying_params(const json_t *phase)
{
    const json_t *params = json_object_get(phase, "params");
    json_t *varying = json_object(), *member, *value;
    const char *name;
    size_t i;
    json_array_foreach(json_object_get(phase, "by_gpu"), i, member)
    {
        const json_t *laid = json_object_get(json_object_get(member, "phase"), "params");
        json_object_foreach((json_t *)laid, name, value)
        {
            if (!json_equal(value, json_object_get(params, name)))
                (void)json_object_set_new(varying, name, json_true());
        }
    }
    return varying;
}
