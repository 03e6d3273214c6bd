/* Whether the names in the gate, guards, until and best of a phase can be names of metrics.
 *
 * All names of a pattern are known, so a name that is nearly one of them is misspelt. Other names
 * are only doubtful, because a program may send metrics itself (phase-worker metric). With `auto`
 * or a file, any name may come. Then a name is doubtful only if it is nearly the name of a metric
 * that phased measures. */
#ifndef PHASED_LIB_SPEC_NAMES_H
#define PHASED_LIB_SPEC_NAMES_H

#include <jansson.h>

struct yaml_node;
struct spec_problems;

/* `phase` is the merged phase, and `json` is the resolved phase. */
void names_check(struct spec_problems *problems, const struct yaml_node *phase, const json_t *json);

#endif
