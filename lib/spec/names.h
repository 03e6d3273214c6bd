/* Whether the names in a phase's gate, guards, until and best can be those of metrics.
 *
 * Of a pattern all names are known, so that one which is nearly one of them is misspelt; what else
 * there may be only the program can tell, which may send metrics by itself (phase-worker metric).
 * Where metrics are read by `auto` or from a file any name may come, and only those that are nearly
 * called as what phased measures are doubtful. */
#ifndef PHASED_LIB_SPEC_NAMES_H
#define PHASED_LIB_SPEC_NAMES_H

#include <jansson.h>

struct node;
struct spec_problems;

/* `phase` is merged, `json` resolved. */
void names_check(struct spec_problems *problems, const struct node *phase, const json_t *json);

#endif
