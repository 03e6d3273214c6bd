/* What a spec tells Slurm and the bookkeeper: the `slurm:` map and the price. */
#ifndef PHASED_LIB_SPEC_OPTIONS_H
#define PHASED_LIB_SPEC_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>

struct key;
struct node;
struct scope;
struct sections;
struct spec_problems;

/* Reads the key `slurm`, after `resources`: the options under the names of
 * lib/spec/slurm_options.h. */
void options_read_slurm(const struct sections *sections, const struct key *key, json_t *phase);

/* The workflow's price, or NULL when it has none or there was a problem; the caller's. */
json_t *options_read_price(struct scope *scope, const struct node *node);

/* What the workflow may cost: {"usd", "gpu_hours", "hours"}, those that are said; NULL as above. */
json_t *options_read_amounts(struct scope *scope, const struct node *node);
/* Likewise; dollars need a price. */
json_t *options_read_budget(struct scope *scope, const struct node *node, const json_t *price);

/* What a phase or the workflow is expected to take: {hours: [3, 5], usd: 490} becomes {"hours": [3,
 * 5], "usd": [490, 490]}; the caller's. NULL when `node` is NULL or empty, or after a problem.
 * Dollars need the price of the workflow. */
json_t *options_read_expect(struct scope *scope, const struct node *node, const json_t *price);

/* Whether GPUs that a phase may get have a price: its `resources`, as they were read from `node`.
 * An error where dollars are counted, which would be none; else a warning. */
void options_check_price(struct spec_problems *problems, const struct node *node,
                         const json_t *resources, const json_t *price, bool counts_dollars);

#endif
