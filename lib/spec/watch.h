/* `hang`: how long a run may show nothing before it is stopped. */
#ifndef PHASED_LIB_SPEC_WATCH_H
#define PHASED_LIB_SPEC_WATCH_H

#include <jansson.h>

struct node;
struct scope;

/* Reads the merged `phase` and adds `hang_s` to `json`: seconds, 0 for off, null where the run's
 * own pace decides. */
void watch_read(struct scope *scope, const struct node *phase, json_t *json);

#endif
