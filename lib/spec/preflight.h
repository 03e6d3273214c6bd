/* `preflight`: how a run's nodes are looked at before its ranks start. */
#ifndef PHASED_LIB_SPEC_PREFLIGHT_H
#define PHASED_LIB_SPEC_PREFLIGHT_H

#include <jansson.h>

struct node;
struct scope;

/* Reads the merged `phase`, whose resources stand in `json` already, and adds `preflight` (a level)
 * and `preflight_observe` to it. */
void preflight_read(struct scope *scope, const struct node *phase, json_t *json);

#endif
