/* What `--set` gave and remedies have changed: params put over those of the file, the last thing
 * before they are computed. */
#ifndef PHASED_LIB_SPEC_OVERRIDES_H
#define PHASED_LIB_SPEC_OVERRIDES_H

#include "lib/spec/node.h"

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

/* Takes `given` (NULL: none) apart; it is borrowed. Reports what is not `param=value` or names what
 * is not there. */
void overrides_init(struct overrides *overrides, struct node_arena *arena,
                    const struct spec_overrides *given, const struct phases *phases,
                    struct spec_problems *problems);
void overrides_fini(struct overrides *overrides);

/* A param with this value, as it would be written: a new node without a place. */
struct node *overrides_param(struct node_arena *arena, const char *name, const json_t *value);

/* The params of a phase, with what was set over them; NULL when it has none. */
const struct node *overrides_apply(const struct overrides *overrides, struct node_arena *arena,
                                   const struct phases_entry *phase);

#endif
