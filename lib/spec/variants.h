/* Variants: parts of a file that are put over it when they are asked for by name (`--with`).
 *
 * They come before `defaults` and `extends` are applied: a phase that extends another one takes
 * over what a variant makes of that. */
#ifndef PHASED_LIB_SPEC_VARIANTS_H
#define PHASED_LIB_SPEC_VARIANTS_H

#include <jansson.h>

struct node;
struct node_arena;
struct spec_problems;

/* The file's root with the variants of these names (an array; NULL: none) over it, later ones over
 * earlier ones; it has no `variants` any more and shares nodes with `root`. Reports what is wrong
 * with any variant's form, and names that are none. Maps but `price` merge by key, all else
 * replaces; a null takes away, a whole phase too. */
struct node *variants_apply(struct node_arena *arena, struct node *root, const json_t *names,
                            struct spec_problems *problems);

/* The variant that this was written in, or NULL. */
const char *variants_name(const struct node *node);

#endif
