/* Resolving phases by GPU. */
#include "lib/spec/by_gpu.h"

#include "lib/spec/keys.h"
#include "lib/spec/matrix.h"
#include "lib/spec/node.h"
#include "lib/spec/overlay.h"
#include "lib/spec/overrides.h"
#include "lib/spec/phases.h"
#include "lib/spec/trial.h"
#include "lib/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BY_GPU_NAME_MAX = 64 };

/* Whether this member of a resolved phase can differ between GPUs. A param may decide about the
 * input of `shard`, but the node splits the file, so the input can differ. */
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
    if (size == 0 || size > BY_GPU_NAME_MAX || !isalnum((unsigned char)name[0]))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr(" _-.", name[i]))
            return false;
    return true;
}

/* Checks one entry of by_gpu. Returns false when there is nothing to put over the phase. */
static bool by_gpu_check(struct spec_problems *problems, const struct node *member)
{
    size_t error_count = problems->error_count;
    if (!by_gpu_is_name(member->key))
        node_key_problem(problems, member,
                         "must be the model of a GPU (h100) or its memory (80GB)");
    else if (strlen(member->key) <= 3 && !member->key[strspn(member->key, "0123456789")])
        node_key_problem(problems, member, "%.20s of what? Memory has a unit (%.20sGB)",
                         member->key, member->key);
    else if (!strpbrk(member->key, "0123456789"))
        node_key_warning(problems, member,
                         "is %.64s a model of GPUs? Nearly all models have a number", member->key);
    if (!node_map(problems, member, "a map of differences, such as {params: {batch: 64}}"))
        return false;
    for (size_t i = 0; i < member->count; i++) {
        const struct node *node = member->items[i];
        const struct key *key = keys_find(KEYS_PHASE, node->key);
        if (key && key->merge != KEY_BY_GPU)
            node_key_problem(problems, node,
                             "cannot differ by GPU: phased needs it before the job has a GPU");
    }
    if (problems->error_count == error_count)
        keys_check(problems, member, KEYS_PHASE);
    return problems->error_count == error_count;
}

/* Returns the members of `phase` that differ from those of `json`; NULL after a problem. */
static json_t *by_gpu_difference(const struct trial *trial, const struct node *member,
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
        node_key_problem(trial->problems, member,
                         "its params change %s, which phased needs before the job has a GPU", name);
        json_decref(difference);
        return NULL;
    }
    return difference;
}

/* A param that nothing uses is probably misspelt, as among the params of the phase. */
static void by_gpu_warn_of_unused(const struct trial *trial, const struct node *member,
                                  const json_t *json)
{
    const struct node *params = node_get(member, "params");
    for (size_t i = 0; params && params->kind == NODE_MAP && i < params->count; i++) {
        const struct node *node = params->items[i];
        if (node->kind == NODE_SCALAR && !node->is_used &&
            !json_object_get(json_object_get(json, "params"), node->key))
            node_key_warning(trial->problems, node, "nothing uses it: run has no $%s", node->key);
    }
}

static json_t *by_gpu_read_member(const struct trial *trial, const struct overrides *overrides,
                                  struct node *member, const json_t *json)
{
    struct phases_entry entry = *trial->entry;
    struct node *without = node_copy_map(trial->arena, entry.node);
    struct trial laid = *trial;
    json_t *phase = NULL, *difference = NULL;
    char *problem = NULL;
    node_remove(without, "by_gpu");
    entry.node = node_merge(trial->arena, without, member, trial->problems);
    matrix_lay(trial->arena, &entry);
    laid.entry = &entry;
    laid.params = overrides_apply(overrides, trial->arena, &entry);
    laid.written = node_get(entry.node, "params");
    if (!laid.params)
        laid.params = node_new(trial->arena, NODE_MAP);
    if (laid.params->kind != NODE_MAP)
        node_problem(trial->problems, laid.params, "must be a map of params");
    else if (!trial_run(&laid, NULL, &phase, &problem))
        node_key_problem(trial->problems, member, "impossible: %.300s", problem);
    else
        difference = by_gpu_difference(trial, member, json, phase);
    if (difference)
        trial_remedies(&laid, node_get(entry.node, "remedies"), phase);
    free(problem);
    json_decref(phase);
    return difference ? json_pack("{s:s, s:o}", "match", member->key, "phase", difference) : NULL;
}

json_t *by_gpu_read(const struct trial *trial, const struct overrides *overrides,
                    const json_t *json)
{
    const struct node *map = node_map(trial->problems, node_get(trial->entry->node, "by_gpu"),
                                      "a map by GPU, such as {h100: {params: ...}}");
    const struct node *own = node_get(trial->entry->written, "by_gpu");
    const json_t *gpus = json_object_get(json_object_get(json, "resources"), "gpus");
    json_t *list = json_array();
    /* An entry of `defaults` is ignored by phases without GPUs. */
    bool has_gpus = json_integer_value(gpus) > 0;
    if (map && own && !has_gpus)
        node_key_problem(trial->problems, own, "there are no gpus");
    for (size_t i = 0; map && has_gpus && i < map->count; i++) {
        struct node *member = map->items[i];
        if (member->kind == NODE_NULL || !by_gpu_check(trial->problems, member))
            continue;
        json_t *read = by_gpu_read_member(trial, overrides, member, json);
        if (read)
            (void)json_array_append_new(list, read);
        if (read && own)
            by_gpu_warn_of_unused(trial, member, json);
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
