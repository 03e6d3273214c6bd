/* Reading `remedies`: which params become what after which failure.
 *
 * A remedy goes by the cause of a run's failure or by the name of a guard or of a gate's check. Its
 * `set` gives params literal numbers, true or false, or else expressions (lib/expr) over the
 * phase's own params as they are then; all are computed before any is set. */
#ifndef PHASED_LIB_SPEC_REMEDIES_H
#define PHASED_LIB_SPEC_REMEDIES_H

#include <jansson.h>

struct error;
struct node;
struct scope;

/* The causes that a remedy may go by; a check may have none of these names. */
#define REMEDIES_CAUSES "oom", "nan", "hang", "preflight", "node_fail", "exit"

/* {"oom": [{"set": {...}, "times": 2, "resume": "checkpoint"}]}, the caller's. `map` may be NULL;
 * `gate` and `guards` are the phase's, resolved. */
json_t *remedies_read(struct scope *scope, const struct node *map, const json_t *gate,
                      const json_t *guards);

/* What `set` makes of `params`: an object of those that it sets, the caller's. -EINVAL where an
 * expression has no usable value. */
int remedies_compute(const json_t *params, const json_t *set, json_t **ret_values,
                     struct error *err);

#endif
