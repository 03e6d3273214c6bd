/* Typed values out of scalars: numbers, durations, words of a choice.
 *
 * Each reader replaces references first (lib/spec/scope.h), so that any field may say `$param`;
 * reports what is wrong and then returns false (or NULL). Its outputs are set on success only. */
#ifndef PHASED_LIB_SPEC_SCALAR_H
#define PHASED_LIB_SPEC_SCALAR_H

#include "lib/spec/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;
struct scope;

bool scalar_number(struct scope *scope, const struct node *node, double *ret_number);
bool scalar_whole(struct scope *scope, const struct node *node, int64_t min, int64_t max,
                  int64_t *ret_number);
bool scalar_boolean(struct scope *scope, const struct node *node, bool *ret_boolean);
bool scalar_duration(struct scope *scope, const struct node *node, uint32_t *ret_seconds);

/* A text that is not empty, the caller's to free(). */
char *scalar_string(struct scope *scope, const struct node *node);

/* The one of `words`, which end with NULL, that it is; NULL with a problem when it is none. */
const char *scalar_choice(struct scope *scope, const struct node *node, const char *const *words);

/* The value of the key `name` of `map`, as the table of keys has its type. False (or NULL) without
 * a problem when `map` is NULL or does not have the key. */
bool scalar_key_whole(struct scope *scope, const struct node *map, enum keys_map keys,
                      const char *name, int64_t *ret_number);
const char *scalar_key_choice(struct scope *scope, const struct node *map, enum keys_map keys,
                              const char *name);

#endif
