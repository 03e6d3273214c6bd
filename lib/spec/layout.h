/* How a phase is laid out on its GPUs: `launch`, `parallel`, and the keys for groups: `shard`,
 * `join`, `outputs`.
 *
 * A layout has tensor x pipeline x data GPUs, and the nodes have as many. In the file, the two must
 * agree. If --set or a remedy changes a param of `parallel`, the requested GPUs follow. */
#ifndef PHASED_LIB_SPEC_LAYOUT_H
#define PHASED_LIB_SPEC_LAYOUT_H

#include <jansson.h>

struct key;
struct sections;

/* The readers of keys of lib/spec/keys.def, in the order of the table. They need `resources` of
 * `phase`, and layout_read_parallel() may change its nodes and GPUs. */
void layout_read_launch(const struct sections *sections, const struct key *key, json_t *phase);
void layout_read_parallel(const struct sections *sections, const struct key *key, json_t *phase);
void layout_read_shard(const struct sections *sections, const struct key *key, json_t *phase);
void layout_read_join(const struct sections *sections, const struct key *key, json_t *phase);
void layout_read_outputs(const struct sections *sections, const struct key *key, json_t *phase);

#endif
