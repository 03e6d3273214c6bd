/* Which keys a map may have, and for any other the nearest of them. */
#ifndef PHASED_LIB_SPEC_KEYS_H
#define PHASED_LIB_SPEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>

struct node;
struct spec_problems;

struct keys {
    const char *const *names;
    size_t count;
};

extern const struct keys keys_workflow, keys_budget, keys_notify, keys_phase, keys_resources,
    keys_parallel, keys_shard, keys_checkpoint, keys_progress, keys_preflight, keys_mfu,
    keys_metrics, keys_check_map, keys_remedy;
extern const struct keys keys_variant, keys_pack, keys_best;

/* Reports the keys of `map` that it may not have. */
void keys_check(struct spec_problems *problems, const struct node *map, const struct keys *keys);

/* Whether there is such a key. */
bool keys_has(const struct keys *keys, const char *name);

/* Whether an unknown key of `map` is nearest to `name`: then that is what is wrong, and not that
 * `name` is missing. */
bool keys_is_misspelt(const struct node *map, const struct keys *keys, const char *name);

#endif
