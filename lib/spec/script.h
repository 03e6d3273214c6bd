/* Which variables a bash script refers to, guessed from its text. This is good enough for warnings,
 * but not for errors, because only bash knows for sure. */
#ifndef PHASED_LIB_SPEC_SCRIPT_H
#define PHASED_LIB_SPEC_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

enum { SCRIPT_NAME_MAX = 64 };

/* Whether `script` uses the variable as `$name` or `${name...}`, without a $ in `$((...))`, or in
 * quotes, as other languages name environment variables. `--depth=12` does not use `depth`: the
 * check is there to find such a number in place of a param. */
bool script_uses(const char *script, const char *name);

/* Finds the next `$name` or `${name` at or after `*at`, puts the name into `ret_name` and moves
 * `*at` behind it. Returns false if no reference follows. */
bool script_next_reference(const char **at, char ret_name[SCRIPT_NAME_MAX + 1]);

/* Whether `script` sets the variable itself: `name=`, `for name`, `read name`, `local name` ... */
bool script_assigns(const char *script, const char *name);

/* Whether the reference to `name` that ends at `end` fails unless something outside the script sets
 * the variable. True only if the script shows nothing else: names in capitals may come from the
 * environment, and commands such as `source` may set anything. */
bool script_needs(const char *script, const char *name, const char *end);

#endif
