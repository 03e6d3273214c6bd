/* Reading `remedies`: which params become what after which failure.
 *
 * A remedy goes by the cause of a run's failure or by the name of a guard or of a gate's check. Its
 * `set` gives params literal numbers, true or false, or else expressions (lib/expr) over the
 * phase's own params as they are then; all are computed before any is set. */
#ifndef PHASED_LIB_SPEC_REMEDIES_H
#define PHASED_LIB_SPEC_REMEDIES_H

#include <jansson.h>

struct error;
struct key;
struct sections;

/* The causes for which there can be a remedy. No check can have these names. */
#define REMEDIES_CAUSES "oom", "nan", "hang", "preflight", "node_fail", "exit"

/* Reads the key `remedies`, after gate and guards: {"oom": [{"set": {...}, "times": 2, "resume":
 * "checkpoint"}]}. */
void remedies_read(const struct sections *sections, const struct key *key, json_t *phase);

/* What `set` makes of `params`: an object of those that it sets, the caller's. -EINVAL where an
 * expression has no usable value. */
int remedies_compute(const json_t *params, const json_t *set, json_t **ret_values,
                     struct error *err);

#endif
