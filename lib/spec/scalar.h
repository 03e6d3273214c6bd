/* Reading scalars as typed values: numbers, durations, words of a choice.
 *
 * Each reader first replaces references (lib/spec/scope.h), so any value may be `$param`. After a
 * problem it returns false (or NULL). Outputs are set only on success. */
#ifndef PHASED_LIB_SPEC_SCALAR_H
#define PHASED_LIB_SPEC_SCALAR_H

#include "lib/spec/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct yaml_node;
struct scope;

bool scalar_number(struct scope *scope, const struct yaml_node *node, double *ret_number);
bool scalar_whole(struct scope *scope, const struct yaml_node *node, int64_t min, int64_t max,
                  int64_t *ret_number);
bool scalar_boolean(struct scope *scope, const struct yaml_node *node, bool *ret_boolean);
bool scalar_duration(struct scope *scope, const struct yaml_node *node, uint32_t *ret_seconds);

/* A text that is not empty. The caller frees it. */
char *scalar_string(struct scope *scope, const struct yaml_node *node);

/* Returns the word of `words`, which ends with NULL, that the scalar is. NULL after a problem. */
const char *scalar_choice(struct scope *scope, const struct yaml_node *node,
                          const char *const *words);

/* Reads the value of the key `name` of `map`, with the bounds or words of the table of keys. If
 * `map` is NULL or lacks the key, returns false (or NULL) without a problem. */
bool scalar_key_whole(struct scope *scope, const struct yaml_node *map, enum keys_map keys,
                      const char *name, int64_t *ret_number);
const char *scalar_key_choice(struct scope *scope, const struct yaml_node *map, enum keys_map keys,
                              const char *name);

#endif
