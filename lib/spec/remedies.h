/* Reading `remedies`: which failure changes which params to what.
 *
 * A remedy is for a cause of a failed run, for a guard, or for a check of the gate. Its `set` gives
 * params numbers, true or false, or expressions (lib/expr) over the params that the phase has at
 * that time. All values are computed before any param is set. */
#ifndef PHASED_LIB_SPEC_REMEDIES_H
#define PHASED_LIB_SPEC_REMEDIES_H

#include <jansson.h>

struct error;
struct key;
struct sections;
struct text;

/* Reads the key `remedies`, after gate and guards: {"oom": [{"set": {...}, "times": 2, "resume":
 * "checkpoint"}]}. */
void remedies_read(const struct sections *sections, const struct key *key, json_t *phase);

/* Computes the new values of the params that `set` sets: a new object. `params` has the old values.
 * -EINVAL if an expression has no usable value. */
int remedies_compute(const json_t *params, const json_t *set, json_t **ret_values,
                     struct error *err);

/* Adds "micro_batch 32 → 16, grad_accum 2 → 4", or "the same params", of a list of {"param",
 * "from", "to"}. */
void remedies_changes_text(const json_t *changes, struct text *text);

#endif
