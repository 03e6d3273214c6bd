/* The keys of every map of the spec. */
#include "lib/spec/keys.h"

#include "lib/spec/node.h"
#include "lib/text.h"

enum { KEYS_MAX = 64 }; /* more than any map has rows; bounds the array of names */

static const struct keys_row keys_workflow_rows[] = {
    {"name", KEYS_SUPPORTED},   {"price", KEYS_SUPPORTED},    {"slurm", KEYS_SUPPORTED},
    {"env", KEYS_SUPPORTED},    {"defaults", KEYS_SUPPORTED}, {"phases", KEYS_SUPPORTED},
    {"budget", KEYS_SUPPORTED}, {"variants", KEYS_SUPPORTED}, {"notify", KEYS_LATER},
    {"code", KEYS_SUPPORTED},
};

/* As above, but what the file is called and the variants themselves. */
static const struct keys_row keys_variant_rows[] = {
    {"price", KEYS_SUPPORTED},    {"slurm", KEYS_SUPPORTED},  {"env", KEYS_SUPPORTED},
    {"defaults", KEYS_SUPPORTED}, {"phases", KEYS_SUPPORTED}, {"budget", KEYS_SUPPORTED},
    {"notify", KEYS_LATER},       {"code", KEYS_SUPPORTED},
};

static const struct keys_row keys_phase_rows[] = {
    {"extends", KEYS_SUPPORTED},  {"after", KEYS_SUPPORTED},     {"resources", KEYS_SUPPORTED},
    {"slurm", KEYS_SUPPORTED},    {"env", KEYS_SUPPORTED},       {"launch", KEYS_SUPPORTED},
    {"params", KEYS_SUPPORTED},   {"run", KEYS_SUPPORTED},       {"workdir", KEYS_SUPPORTED},
    {"metrics", KEYS_SUPPORTED},  {"progress", KEYS_SUPPORTED},  {"checkpoint", KEYS_SUPPORTED},
    {"gate", KEYS_SUPPORTED},     {"guards", KEYS_SUPPORTED},    {"nan_ok", KEYS_SUPPORTED},
    {"promote", KEYS_SUPPORTED},  {"on_fail", KEYS_SUPPORTED},   {"linger", KEYS_SUPPORTED},
    {"remedies", KEYS_SUPPORTED}, {"matrix", KEYS_SUPPORTED},    {"best", KEYS_SUPPORTED},
    {"pack", KEYS_SUPPORTED},     {"by_gpu", KEYS_SUPPORTED},    {"colocate", KEYS_SUPPORTED},
    {"shard", KEYS_SUPPORTED},    {"join", KEYS_SUPPORTED},      {"until", KEYS_SUPPORTED},
    {"notify", KEYS_LATER},       {"preflight", KEYS_SUPPORTED}, {"hang", KEYS_SUPPORTED},
    {"idle", KEYS_SUPPORTED},     {"mfu", KEYS_SUPPORTED},       {"parallel", KEYS_SUPPORTED},
    {"outputs", KEYS_SUPPORTED},
};

static const struct keys_row keys_resources_rows[] = {
    {"nodes", KEYS_SUPPORTED},        {"gpus", KEYS_SUPPORTED}, {"cpus", KEYS_SUPPORTED},
    {"cpus_per_gpu", KEYS_SUPPORTED}, {"mem", KEYS_SUPPORTED},  {"time", KEYS_SUPPORTED},
};

static const struct keys_row keys_budget_rows[] = {
    {"usd", KEYS_SUPPORTED},
    {"gpu_hours", KEYS_SUPPORTED},
    {"hours", KEYS_SUPPORTED},
};

static const struct keys_row keys_parallel_rows[] = {
    {"tensor", KEYS_SUPPORTED},
    {"pipeline", KEYS_SUPPORTED},
    {"data", KEYS_SUPPORTED},
};

static const struct keys_row keys_shard_rows[] = {
    {"input", KEYS_SUPPORTED},
    {"by", KEYS_SUPPORTED},
};

static const struct keys_row keys_checkpoint_rows[] = {
    {"path", KEYS_SUPPORTED},
    {"stop_signal", KEYS_SUPPORTED},
    {"save_time", KEYS_SUPPORTED},
    {"keep", KEYS_SUPPORTED},
};

static const struct keys_row keys_progress_rows[] = {
    {"step", KEYS_SUPPORTED},
    {"total", KEYS_SUPPORTED},
};

static const struct keys_row keys_preflight_rows[] = {
    {"level", KEYS_SUPPORTED},
    {"observe", KEYS_SUPPORTED},
};

static const struct keys_row keys_mfu_rows[] = {
    {"params", KEYS_SUPPORTED},   {"layers", KEYS_SUPPORTED},      {"width", KEYS_SUPPORTED},
    {"sequence", KEYS_SUPPORTED}, {"peak_tflops", KEYS_SUPPORTED},
};

static const struct keys_row keys_metrics_rows[] = {
    {"pattern", KEYS_SUPPORTED},
    {"file", KEYS_SUPPORTED},
};

static const struct keys_row keys_check_map_rows[] = {
    {"condition", KEYS_SUPPORTED}, {"value", KEYS_SUPPORTED}, {"at_least", KEYS_SUPPORTED},
    {"at_most", KEYS_SUPPORTED},   {"above", KEYS_SUPPORTED}, {"below", KEYS_SUPPORTED},
    {"over", KEYS_SUPPORTED},      {"skip", KEYS_SUPPORTED},  {"else", KEYS_SUPPORTED},
    {"advice", KEYS_SUPPORTED},
};

static const struct keys_row keys_remedy_rows[] = {
    {"set", KEYS_SUPPORTED},
    {"times", KEYS_SUPPORTED},
    {"resume", KEYS_SUPPORTED},
};

static const struct keys_row keys_pack_rows[] = {
    {"serial", KEYS_SUPPORTED},
    {"parallel", KEYS_SUPPORTED},
};

static const struct keys_row keys_best_rows[] = {
    {"max", KEYS_SUPPORTED},   {"min", KEYS_SUPPORTED}, {"where", KEYS_SUPPORTED},
    {"rungs", KEYS_SUPPORTED}, {"cut", KEYS_SUPPORTED}, {"reuse", KEYS_SUPPORTED},
};

#define KEYS_OF(name)                                                                              \
    const struct keys name = {name##_rows, sizeof name##_rows / sizeof name##_rows[0]};            \
    _Static_assert(sizeof name##_rows / sizeof name##_rows[0] <= KEYS_MAX, "raise KEYS_MAX")

KEYS_OF(keys_workflow);
KEYS_OF(keys_variant);
KEYS_OF(keys_phase);
KEYS_OF(keys_resources);
KEYS_OF(keys_budget);
KEYS_OF(keys_parallel);
KEYS_OF(keys_shard);
KEYS_OF(keys_checkpoint);
KEYS_OF(keys_progress);
KEYS_OF(keys_preflight);
KEYS_OF(keys_mfu);
KEYS_OF(keys_metrics);
KEYS_OF(keys_check_map);
KEYS_OF(keys_remedy);
KEYS_OF(keys_pack);
KEYS_OF(keys_best);

static const struct keys_row *keys_find(const struct keys *keys, const char *name)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (text_equal(keys->rows[i].name, name))
            return &keys->rows[i];
    }
    return NULL;
}

bool keys_has(const struct keys *keys, const char *name)
{
    return keys_find(keys, name) != NULL;
}

bool keys_is_misspelt(const struct node *map, const struct keys *keys, const char *name)
{
    const char *names[KEYS_MAX];
    for (size_t i = 0; i < keys->count; i++)
        names[i] = keys->rows[i].name;
    /* A map of more keys than there are is no mistake in one of them. */
    bool is_small = map->kind == NODE_MAP && map->count <= KEYS_MAX;
    for (size_t i = 0; is_small && i < map->count; i++) {
        const char *key = map->items[i]->key;
        const char *nearest = keys_find(keys, key) ? NULL : text_nearest(key, names, keys->count);
        if (nearest && text_equal(nearest, name))
            return true;
    }
    return false;
}

static void keys_report(struct spec_problems *problems, const struct node *node,
                        const struct keys *keys)
{
    const char *names[KEYS_MAX];
    for (size_t i = 0; i < keys->count; i++)
        names[i] = keys->rows[i].name;
    const char *nearest = spec_problems_nearest(problems, node->key, names, keys->count);
    if (text_equal(node->key, "<<"))
        node_key_problem(problems, node,
                         "merge keys are not supported: phases share by extends and defaults");
    else if (nearest)
        node_key_problem(problems, node, "unknown key (did you mean %s?)", nearest);
    else
        node_key_problem(problems, node, "unknown key");
}

void keys_check(struct spec_problems *problems, const struct node *map, const struct keys *keys)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct node *node = map->items[i];
        const struct keys_row *row = keys_find(keys, node->key);
        if (!row)
            keys_report(problems, node, keys);
        else if (row->state == KEYS_LATER && node->kind != NODE_NULL)
            node_key_problem(problems, node, "not supported yet");
    }
}
