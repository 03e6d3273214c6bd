/* The workflow file: from one YAML (or JSON) text to one resolved JSON document, or to all of the
 * problems that the text has.
 *
 * In the resolved document nothing is left to look up: `extends`, `defaults`, `--set`, derived
 * params and `$param` references are applied, and amounts are plain numbers. Each phase stands
 * after the phases that it waits for. The daemon stores the document, and the worker gets it;
 * lib/spec/phase.h reads one phase. lib/spec/document.md specifies the document. */
#ifndef PHASED_LIB_SPEC_SPEC_H
#define PHASED_LIB_SPEC_SPEC_H

#include "lib/spec/problems.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum {
    SPEC_SIZE_MAX = 1 << 20,           /* bytes of the file */
    SPEC_PHASES_MAX = 1000,            /* phases of a workflow */
    SPEC_RESOLVED_SIZE_MAX = 16 << 20, /* bytes of text that `extends` may make of the file */
};

/* What only the machine on which a file is checked knows: whether bash accepts the scripts, whether
 * the paths exist, and what time it is. The parser does not look at the machine itself. phasectl
 * gives it a probe, the daemon does not. */
struct spec_probe {
    /* Returns what bash says about the grammar of the script, and the line, from 1. The caller
     * frees the text. NULL: nothing is wrong, or there is no bash. */
    char *(*script)(void *context, const char *script, unsigned *ret_line);
    /* Returns why the path cannot be used on this machine, borrowed; NULL: it can be used. */
    const char *(*path)(void *context, const char *path, bool is_folder);
    void *context;
    int64_t now; /* in s since 1970 */
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
    /* The same as a map: {"validate.iterations": "10"}; or NULL. */
    const json_t *set;
    /* What remedies have changed; it lies above `texts` and `set`. A list of {"phase", "param",
     * "value"}, or NULL. */
    const json_t *changes;
    /* Not 0: the result is a rehearsal with this many steps of each phase (lib/spec/rehearsal.h). A
     * rehearsal has no remedies and no matrices, so it is never resolved with `changes`. */
    unsigned rehearsal_steps;
    /* NULL: do not ask the machine. */
    const struct spec_probe *probe;
};

/* Checks and resolves the `size` bytes of `data`; `file` names them in messages. `overrides` may be
 * NULL. Without errors, returns 0 and a new document; the caller calls json_decref(). Otherwise
 * returns -EINVAL. `problems` must be empty or zeroed. It gets warnings also on success, and is the
 * caller's to end. */
int spec_parse(const char *file, const char *data, size_t size,
               const struct spec_overrides *overrides, json_t **ret_json,
               struct spec_problems *problems);

#endif
