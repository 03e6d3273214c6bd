/* The params that `--set` and remedies have changed. They are put over the params of the file just
 * before params are computed. */
#ifndef PHASED_LIB_SPEC_OVERRIDES_H
#define PHASED_LIB_SPEC_OVERRIDES_H

#include "lib/spec/yaml_node.h"

#include <stddef.h>

#include <jansson.h>

struct phases;
struct phases_entry;
struct spec_overrides;

struct overrides_item;

struct overrides {
    struct overrides_item *items;
    size_t count;
};

/* Reads `given` (NULL: nothing was given), which is borrowed. Reports texts that are not
 * `param=value`, and phases and params that do not exist. */
void overrides_init(struct overrides *overrides, struct yaml_arena *arena,
                    const struct spec_overrides *given, const struct phases *phases,
                    struct spec_problems *problems);
void overrides_fini(struct overrides *overrides);

/* A new node, without a position, for a param with this value. */
struct yaml_node *overrides_param(struct yaml_arena *arena, const char *name, const json_t *value);

/* The params of a phase with the overrides; NULL when it has no params. */
const struct yaml_node *overrides_apply(const struct overrides *overrides, struct yaml_arena *arena,
                                        const struct phases_entry *phase);

#endif
