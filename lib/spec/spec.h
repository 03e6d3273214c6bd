/* The workflow file: one YAML (or JSON) text in, one resolved JSON document out, or every problem
 * there is.
 *
 * In the resolved document nothing is left to look up: `extends`, `defaults`, `--set`, derived
 * params and `$param` references are applied, amounts are plain numbers, phases stand in an order
 * in which each comes after those it waits for. It is what the daemon stores and what the worker
 * gets; lib/spec/phase.h reads one phase of it. lib/spec/README.md specifies it. */
#ifndef PHASED_LIB_SPEC_SPEC_H
#define PHASED_LIB_SPEC_SPEC_H

#include "lib/spec/problems.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum {
    SPEC_SIZE_MAX = 1 << 20,           /* bytes of the file */
    SPEC_PHASES_MAX = 1000,            /* phases of a workflow */
    SPEC_RESOLVED_SIZE_MAX = 16 << 20, /* bytes of text that `extends` may make of it */
};

/* What only the machine on which a file is checked can tell: whether bash accepts the scripts, and
 * whether the paths exist. The parser asks nobody by itself; phasectl asks, the daemon does not. */
struct spec_probe {
    /* What bash says of the script's grammar, the caller's, and the line, from 1. NULL: nothing is
     * wrong, or there is no bash. */
    char *(*script)(void *context, const char *script, unsigned *ret_line);
    /* Why the path cannot be used on this machine, borrowed; NULL: it can. */
    const char *(*path)(void *context, const char *path, bool is_folder);
    void *context;
};

/* What is put over the file. Later members win. */
struct spec_overrides {
    /* The names of the variants to apply (`--with`): an array of texts; or NULL. */
    json_t *variants;
    /* Whether to resolve the file with each variant too, alone and without `--set`, so that its
     * problems are reported before somebody uses it. */
    bool try_variants;
    /* The arguments of `--set`: `validate.iterations=10`, or `iterations=10` for every phase with
     * this param. */
    const char *const *texts;
    size_t count;
    /* Above them, what remedies have changed: a list of {"phase", "param", "value"}; or NULL. */
    const json_t *changes;
    /* Not 0: a rehearsal with so many steps of each phase is made of it (lib/spec/rehearsal.h). It
     * has no remedies and no matrices, so it is never resolved with `changes`. */
    unsigned rehearsal_steps;
    /* NULL: the machine is not asked. */
    const struct spec_probe *probe;
};

/* Checks and resolves the `size` bytes of `data`; `file` names them in messages. `overrides` may
 * be NULL. Returns 0 and a new document, the caller's to json_decref(), when there are no errors,
 * else -EINVAL. `problems` must be empty or zeroed; it is filled either way (warnings) and is the
 * caller's to end. */
int spec_parse(const char *file, const char *data, size_t size,
               const struct spec_overrides *overrides, json_t **ret_json,
               struct spec_problems *problems);

#endif
