/* How a phase is laid out on its GPUs: `launch`, `parallel`, and what goes with groups: `shard`,
 * `join`, `outputs`.
 *
 * A layout is tensor x pipeline x data GPUs, and that product is what the nodes have. The file must
 * say so consistently; where --set or a remedy then changes a param that `parallel` refers to, the
 * GPUs asked for follow. */
#ifndef PHASED_LIB_SPEC_LAYOUT_H
#define PHASED_LIB_SPEC_LAYOUT_H

#include <jansson.h>

struct key;
struct sections;

/* Readers of the keys of their names (lib/spec/keys.def), in this order. `resources` of `phase`
 * have been read, and layout_read_parallel() may change their nodes and GPUs. */
void layout_read_launch(const struct sections *sections, const struct key *key, json_t *phase);
void layout_read_parallel(const struct sections *sections, const struct key *key, json_t *phase);
void layout_read_shard(const struct sections *sections, const struct key *key, json_t *phase);
void layout_read_join(const struct sections *sections, const struct key *key, json_t *phase);
void layout_read_outputs(const struct sections *sections, const struct key *key, json_t *phase);

#endif
