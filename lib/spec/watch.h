/* `hang`: how long a run may show nothing before it is stopped. `idle`: how long its GPUs may do
 * nothing before that is told. */
#ifndef PHASED_LIB_SPEC_WATCH_H
#define PHASED_LIB_SPEC_WATCH_H

#include <jansson.h>

struct node;
struct scope;

/* Reads the merged `phase` and adds to `json`, in seconds, 0 for off: `hang_s`, null where the
 * run's own pace decides, and `idle_s`, 600 by default. */
void watch_read(struct scope *scope, const struct node *phase, json_t *json);

#endif
