/* Variants: parts of a file that are put over it when they are asked for by name (`--with`).
 *
 * Variants come before `defaults` and `extends`: if a variant changes a phase that another phase
 * extends, the other phase takes over the change. */
#ifndef PHASED_LIB_SPEC_VARIANTS_H
#define PHASED_LIB_SPEC_VARIANTS_H

#include <jansson.h>

struct yaml_node;
struct yaml_arena;
struct spec_problems;

/* Puts the variants with these names (an array; NULL: no names) over the root of the file, later
 * variants over earlier ones. Returns the new root, which has no `variants` and shares nodes with
 * `root`. Reports names that are not variants, and what is wrong with the form of any variant. Maps
 * but `price` merge by key, and everything else replaces. A null removes a value, also a whole
 * phase. */
struct yaml_node *variants_apply(struct yaml_arena *arena, struct yaml_node *root,
                                 const json_t *names, struct spec_problems *problems);

/* Returns the variant in which the node was written, or NULL. */
const char *variants_name(const struct yaml_node *node);

#endif
