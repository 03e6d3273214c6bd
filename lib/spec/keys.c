/* The keys of every map of the spec. */
#include "lib/spec/keys.h"

#include "lib/spec/node.h"
#include "lib/text.h"

enum { KEYS_MAX = 64 }; /* more than any map has */

static const char *const keys_workflow_names[] = {
    "name",   "price",  "slurm",    "env",    "defaults", "phases",
    "budget", "expect", "variants", "notify", "code",
};

/* As above, but what the file is called and the variants themselves. */
static const char *const keys_variant_names[] = {
    "price", "slurm", "env", "defaults", "phases", "budget", "expect", "notify", "code",
};

static const char *const keys_phase_names[] = {
    "extends", "after",   "resources", "slurm",    "env",        "launch", "params",
    "run",     "workdir", "metrics",   "progress", "checkpoint", "gate",   "guards",
    "nan_ok",  "promote", "on_fail",   "linger",   "remedies",   "matrix", "best",
    "pack",    "by_gpu",  "colocate",  "shard",    "join",       "until",  "preflight",
    "hang",    "idle",    "mfu",       "parallel", "outputs",    "notify", "expect",
};

static const char *const keys_resources_names[] = {
    "nodes", "gpus", "cpus", "cpus_per_gpu", "mem", "time",
};

static const char *const keys_budget_names[] = {
    "usd",
    "gpu_hours",
    "hours",
};

static const char *const keys_notify_names[] = {
    "on",
    "command",
    "webhook",
};

static const char *const keys_parallel_names[] = {
    "tensor",
    "pipeline",
    "data",
};

static const char *const keys_shard_names[] = {
    "input",
    "by",
};

static const char *const keys_checkpoint_names[] = {
    "path",
    "stop_signal",
    "save_time",
    "keep",
};

static const char *const keys_progress_names[] = {
    "step",
    "total",
    "samples",
    "tokens",
};

static const char *const keys_preflight_names[] = {
    "level",
    "observe",
};

static const char *const keys_mfu_names[] = {
    "params", "layers", "width", "sequence", "peak_tflops",
};

static const char *const keys_metrics_names[] = {
    "pattern",
    "file",
};

static const char *const keys_check_map_names[] = {
    "condition", "value", "at_least", "at_most", "above", "below", "over", "skip", "else", "advice",
};

static const char *const keys_remedy_names[] = {
    "set",
    "times",
    "resume",
};

static const char *const keys_pack_names[] = {
    "serial",
    "parallel",
};

static const char *const keys_best_names[] = {
    "max", "min", "where", "rungs", "cut", "reuse",
};

#define KEYS_OF(map)                                                                               \
    const struct keys map = {map##_names, sizeof map##_names / sizeof map##_names[0]}

KEYS_OF(keys_workflow);
KEYS_OF(keys_variant);
KEYS_OF(keys_phase);
KEYS_OF(keys_resources);
KEYS_OF(keys_budget);
KEYS_OF(keys_notify);
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

bool keys_has(const struct keys *keys, const char *name)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (text_equal(keys->names[i], name))
            return true;
    }
    return false;
}

bool keys_is_misspelt(const struct node *map, const struct keys *keys, const char *name)
{
    /* A map of more keys than there are is no mistake in one of them. */
    bool is_small = map->kind == NODE_MAP && map->count <= KEYS_MAX;
    for (size_t i = 0; is_small && i < map->count; i++) {
        const char *key = map->items[i]->key;
        const char *nearest =
            keys_has(keys, key) ? NULL : text_nearest(key, keys->names, keys->count);
        if (nearest && text_equal(nearest, name))
            return true;
    }
    return false;
}

static void keys_report(struct spec_problems *problems, const struct node *node,
                        const struct keys *keys)
{
    const char *nearest = spec_problems_nearest(problems, node->key, keys->names, keys->count);
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
        if (!keys_has(keys, map->items[i]->key))
            keys_report(problems, map->items[i], keys);
    }
}
