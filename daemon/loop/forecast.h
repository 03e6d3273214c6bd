/* What would become of a workflow if it were submitted now: where its phases fit, when Slurm would
 * start them, what it would take. Nothing is recorded. */
#ifndef PHASED_DAEMON_LOOP_FORECAST_H
#define PHASED_DAEMON_LOOP_FORECAST_H

#include <jansson.h>

struct error;
struct loop;
struct store_launch;

/* Called once. The plan as doc/api.md has it, the callee's; NULL: `err` says why, or is NULL
 * itself when the loop was closed. */
typedef void forecast_done(void *arg, json_t *plan, const struct error *err);

/* `launch` has no `spec`; it is borrowed during the call, `resolved` is kept a reference to.
 * Negative: `done` is not called. */
int forecast_ask(struct loop *loop, json_t *resolved, const struct store_launch *launch,
                 forecast_done *done, void *arg, struct error *err);

#endif
