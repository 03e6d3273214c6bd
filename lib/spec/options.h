/* Reading `slurm`, `price`, `budget` and `expect`. */
#ifndef PHASED_LIB_SPEC_OPTIONS_H
#define PHASED_LIB_SPEC_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>

struct key;
struct yaml_node;
struct scope;
struct sections;
struct spec_problems;

/* Reads the key `slurm`, after `resources`. The options get the names of
 * lib/spec/slurm_options.h. */
void options_read_slurm(const struct sections *sections, const struct key *key, json_t *phase);

/* Returns the price of the workflow, a new reference. NULL without the key or after a problem. */
json_t *options_read_price(struct scope *scope, const struct yaml_node *node);

/* Returns the amounts of a budget that the file has: "usd", "gpu_hours" and "hours". NULL without
 * the key or after a problem. */
json_t *options_read_amounts(struct scope *scope, const struct yaml_node *node);
/* As options_read_amounts(), but dollars need a price. */
json_t *options_read_budget(struct scope *scope, const struct yaml_node *node, const json_t *price);

/* Returns what a phase or the workflow is expected to take, a new reference: {hours: [3, 5], usd:
 * 490} becomes {"hours": [3, 5], "usd": [490, 490]}. NULL if `node` is NULL or empty, or after a
 * problem. Dollars need the price of the workflow. */
json_t *options_read_expect(struct scope *scope, const struct yaml_node *node, const json_t *price);

/* Checks that the GPUs in `resources`, which were read from `node`, have a price. A missing price
 * is an error when dollars are counted, and otherwise a warning. */
void options_check_price(struct spec_problems *problems, const struct yaml_node *node,
                         const json_t *resources, const json_t *price, bool counts_dollars);

#endif
