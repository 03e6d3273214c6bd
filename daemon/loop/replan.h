/* A workflow with other params: its text is read again with all that was set since. */
#ifndef PHASED_DAEMON_LOOP_REPLAN_H
#define PHASED_DAEMON_LOOP_REPLAN_H

#include <jansson.h>

struct error;
struct store_source;
struct workflow;

/* Adds [{"param", "from", "to"}] of this phase to what was changed. */
void replan_change(struct store_source *source, const char *phase, const json_t *changes);

/* The resolved document, and the model made of it, both the caller's. -EINVAL says what is wrong;
 * then there is neither. */
int replan(const struct store_source *source, const struct workflow *workflow,
           json_t **ret_resolved, struct workflow **ret_plan, struct error *err);

#endif
