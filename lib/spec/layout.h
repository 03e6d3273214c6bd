/* How a phase is laid out on its GPUs: `launch`, `parallel`, and what goes with groups: `shard`,
 * `join`, `outputs`.
 *
 * A layout is tensor x pipeline x data GPUs, and that product is what the nodes have. The file must
 * say so consistently; where --set or a remedy then changes a param that `parallel` refers to, the
 * GPUs asked for follow. */
#ifndef PHASED_LIB_SPEC_LAYOUT_H
#define PHASED_LIB_SPEC_LAYOUT_H

#include <jansson.h>

struct sections;

/* Reads them into `phase`, whose `resources` are read already and may be changed. */
void layout_read(const struct sections *sections, json_t *phase);

#endif
