/* Reads etc/preflight.yaml with the reader of workflow files. */
#include "worker/preflight/thresholds.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THRESHOLDS_SIZE_MAX = 1 << 20 };

struct thresholds_key {
    const char *name;
    size_t offset; /* of a struct fact */
};

static const struct thresholds_key thresholds_keys[] = {
    {"memory_used_mib", offsetof(struct thresholds, memory_used_mib)},
    {"ecc_uncorrected", offsetof(struct thresholds, ecc_uncorrected)},
    {"scratch_free_mib", offsetof(struct thresholds, scratch_free_mib)},
    {"clock_error_ms", offsetof(struct thresholds, clock_error_ms)},
    {"xid_hours", offsetof(struct thresholds, xid_hours)},
    {"baseline_percent", offsetof(struct thresholds, baseline_percent)},
    {"start_seconds", offsetof(struct thresholds, start_seconds)},
};

static const struct thresholds_key thresholds_model_keys[] = {
    {"memory_total_mib", offsetof(struct thresholds_model, memory_total_mib)},
    {"nvlinks", offsetof(struct thresholds_model, nvlinks)},
};

static struct fact thresholds_fact(struct scope *scope, const struct yaml_node *node)
{
    int64_t value;
    if (!scalar_whole(scope, node, 0, INT32_MAX, &value))
        return (struct fact){0};
    return (struct fact){.is_known = true, .value = (uint64_t)value};
}

/* Reads `node` into the field that `keys` has for its key. Returns whether there is such a
 * field. */
static bool thresholds_figure(struct scope *scope, const struct yaml_node *node,
                              const struct thresholds_key *keys, size_t count, void *target)
{
    for (size_t i = 0; i < count; i++) {
        if (!text_equal(node->key, keys[i].name))
            continue;
        struct fact fact = thresholds_fact(scope, node);
        memcpy((char *)target + keys[i].offset, &fact, sizeof fact);
        return true;
    }
    return false;
}

static void thresholds_xids(struct scope *scope, const struct yaml_node *node,
                            struct thresholds *thresholds)
{
    if (node->kind != YAML_LIST || node->count > THRESHOLDS_XIDS_MAX) {
        yaml_problem(scope->problems, node, "must be a list of at most %d numbers",
                     THRESHOLDS_XIDS_MAX);
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        int64_t value;
        if (scalar_whole(scope, node->items[i], 1, 100000, &value))
            thresholds->xids[thresholds->xid_count++] = (unsigned)value;
    }
}

/* Reads "8: 431" or "16 on 2: 350": groups of so many GPUs, on so many nodes. */
static void thresholds_groups(struct scope *scope, const struct yaml_node *node,
                              struct thresholds_model *model)
{
    if (node->kind != YAML_MAP || node->count > THRESHOLDS_GROUPS_MAX) {
        yaml_problem(scope->problems, node, "must be a map of at most %d sizes of groups",
                     THRESHOLDS_GROUPS_MAX);
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        struct thresholds_group *group = &model->groups[model->group_count];
        const char *key = node->items[i]->key;
        int one = 0, two = 0;
        *group = (struct thresholds_group){.nodes = 1};
        int count = sscanf(key, "%4u%n on %4u%n", &group->gpus, &one, &group->nodes, &two);
        if (count < 1 || key[count == 2 ? two : one] || group->gpus < 2 || !group->nodes) {
            yaml_key_problem(scope->problems, node->items[i],
                             "must be a size of groups, as `8` or `16 on 2` nodes");
            continue;
        }
        group->value = thresholds_fact(scope, node->items[i]);
        model->group_count++;
    }
}

/* Reads a figure of the full level. Returns whether `node` is one. */
static bool thresholds_measured(struct scope *scope, const struct yaml_node *node,
                                struct thresholds_model *model)
{
    enum figure figure = figure_of_name(node->key);
    if (figure == FIGURE_ALLREDUCE)
        thresholds_groups(scope, node, model);
    else if (figure != FIGURE_COUNT)
        model->figures[figure] = thresholds_fact(scope, node);
    return figure != FIGURE_COUNT;
}

static void thresholds_one_model(struct scope *scope, const struct yaml_node *node,
                                 struct thresholds_model *model)
{
    char *match = yaml_get(node, "match") ? scalar_string(scope, yaml_get(node, "match")) : NULL;
    if (!yaml_get(node, "match"))
        yaml_problem(scope->problems, node, "a model needs a `match`: part of the GPU's name");
    if (match)
        (void)snprintf(model->match, sizeof model->match, "%s", match);
    free(match);
    for (size_t i = 0; node->kind == YAML_MAP && i < node->count; i++)
        if (!text_equal(node->items[i]->key, "match") &&
            !thresholds_measured(scope, node->items[i], model) &&
            !thresholds_figure(scope, node->items[i], thresholds_model_keys,
                               sizeof thresholds_model_keys / sizeof *thresholds_model_keys, model))
            yaml_key_problem(scope->problems, node->items[i], "unknown figure of a model");
}

static void thresholds_models(struct scope *scope, const struct yaml_node *node,
                              struct thresholds *thresholds)
{
    if (node->kind != YAML_LIST || node->count > THRESHOLDS_MODELS_MAX) {
        yaml_problem(scope->problems, node, "must be a list of at most %d models",
                     THRESHOLDS_MODELS_MAX);
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        thresholds_one_model(scope, node->items[i], &thresholds->models[thresholds->model_count++]);
}

static void thresholds_one_row(struct scope *scope, const struct yaml_node *node,
                               struct thresholds_row *row, const char *size)
{
    for (size_t i = 0; node->kind == YAML_MAP && i < node->count; i++) {
        const struct yaml_node *item = node->items[i];
        if (text_equal(item->key, "seconds"))
            row->seconds = thresholds_fact(scope, item);
        else if (text_equal(item->key, size))
            row->size = thresholds_fact(scope, item);
        else
            yaml_key_problem(scope->problems, item, "unknown; a row has `seconds` and `%s`", size);
    }
    if (!row->seconds.is_known || !row->size.is_known)
        yaml_problem(scope->problems, node, "a row needs `seconds` and `%s`", size);
    else if (!row->size.value)
        yaml_problem(scope->problems, node, "`%s` must not be 0", size);
}

static void thresholds_rows(struct scope *scope, const struct yaml_node *node,
                            struct thresholds *thresholds)
{
    if (node->kind != YAML_MAP) {
        yaml_problem(scope->problems, node, "must be a map of rows");
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        enum figure_row row = figure_row_of_name(node->items[i]->key);
        if (row == FIGURE_ROW_COUNT)
            yaml_key_problem(scope->problems, node->items[i], "unknown row");
        else
            thresholds_one_row(scope, node->items[i], &thresholds->rows[row],
                               row == FIGURE_ROW_MATRIX ? "elements" : "mib");
    }
}

static void thresholds_root(struct scope *scope, const struct yaml_node *root,
                            struct thresholds *thresholds)
{
    if (root->kind != YAML_MAP) {
        yaml_problem(scope->problems, root, "must be a map of thresholds");
        return;
    }
    for (size_t i = 0; i < root->count; i++) {
        const struct yaml_node *item = root->items[i];
        if (text_equal(item->key, "xids"))
            thresholds_xids(scope, item, thresholds);
        else if (text_equal(item->key, "models"))
            thresholds_models(scope, item, thresholds);
        else if (text_equal(item->key, "measure"))
            thresholds_rows(scope, item, thresholds);
        else if (!thresholds_figure(scope, item, thresholds_keys,
                                    sizeof thresholds_keys / sizeof *thresholds_keys, thresholds))
            yaml_key_problem(scope->problems, item, "unknown threshold");
    }
}

int thresholds_read(const char *path, struct thresholds *ret_thresholds,
                    struct spec_problems *problems)
{
    struct thresholds thresholds = {0};
    struct yaml_arena arena = {0};
    struct yaml_node *root = NULL;
    struct error err;
    char *data = NULL;
    size_t size = 0, expanded = 0;
    free(problems->file);
    problems->file = xstrdup(path);
    if (file_read(path, THRESHOLDS_SIZE_MAX, &data, &size, &err) < 0) {
        free(problems->file);
        problems->file = NULL; /* the message names the file */
        spec_problems_add(problems, SPEC_ERROR, 0, 0, "", "%s", err.message);
        return -EINVAL;
    }
    if (yaml_read(&arena, data, size, problems, &root) == 0) {
        struct scope scope;
        scope_init(&scope, problems, &expanded, NULL, NULL, 0);
        thresholds_root(&scope, root, &thresholds);
        scope_fini(&scope);
    }
    yaml_arena_fini(&arena);
    free(data);
    spec_problems_sort(problems);
    if (problems->error_count)
        return -EINVAL;
    *ret_thresholds = thresholds;
    return 0;
}

const struct thresholds_model *thresholds_model(const struct thresholds *thresholds,
                                                const char *name)
{
    for (size_t i = 0; i < thresholds->model_count; i++)
        if (strstr(name, thresholds->models[i].match))
            return &thresholds->models[i];
    return NULL;
}

struct fact thresholds_of_group(const struct thresholds_model *model, unsigned gpus, unsigned nodes)
{
    for (unsigned i = 0; model && i < model->group_count; i++)
        if (model->groups[i].gpus == gpus && model->groups[i].nodes == nodes)
            return model->groups[i].value;
    return (struct fact){0};
}
