/* The checks of a gate or of the guards: from the map in the file to the JSON that lib/expr/check.h
 * reads. */
#ifndef PHASED_LIB_SPEC_CHECKS_H
#define PHASED_LIB_SPEC_CHECKS_H

#include <jansson.h>

struct node;
struct scope;

/* All checks of `map` (NULL: none) by name, the caller's. What has a problem lacks in it. `others`
 * is NULL for a gate. For guards it is the phase's gate, whose names are taken; guards may not name
 * other phases. */
json_t *checks_read(struct scope *scope, const struct node *map, const json_t *others);

/* What stands alone of the same: a condition, or a value when `key` says so; as text, the caller's.
 * NULL after a problem. It may not name other phases. */
json_t *checks_read_alone(struct scope *scope, const struct node *node, const char *key);

/* What `until` of the merged phase says, in the form of one check, the caller's; NULL: nothing. */
json_t *checks_read_until(struct scope *scope, const struct node *phase);

#endif
