/* What would become of a workflow if it was submitted now: where its phases fit, when Slurm would
 * start them, and what they would take. Nothing is decided or recorded. */
#ifndef PHASED_DAEMON_OUTLOOK_OUTLOOK_H
#define PHASED_DAEMON_OUTLOOK_OUTLOOK_H

#include <jansson.h>
#include <stddef.h>

struct cluster_description;
struct cluster_result;
struct error;
struct loop;
struct room;
struct store_launch;
struct workflow;

extern const struct room outlook_room;

/* Makes the core's model of a resolved workflow (lib/spec/spec.h): a new workflow without ids. The
 * caller gives it to workflow_free() or core_add(). */
int outlook_model(const json_t *resolved, struct workflow **ret_workflow, struct error *err);

/* Called once with the cluster's answer, which is borrowed. NULL: the loop was closed before an
 * answer came. */
typedef void outlook_surveyed(void *context, const struct cluster_result *result);
/* Asks the cluster what it has, and when these jobs would start (at most SURVEY_FORECASTS_MAX
 * jobs). -EBUSY: too many requests wait already. -EINVAL: a job cannot be submitted anywhere. After
 * an error `done` is not called. */
int outlook_survey(struct loop *loop, const struct cluster_description *const *descriptions,
                   size_t count, outlook_surveyed *done, void *context, struct error *err);

/* Called once with the plan as doc/api.md describes it. The callee owns the plan. NULL: `err` says
 * why there is no plan; `err` is NULL, too, if the loop was closed. */
typedef void outlook_done(void *context, json_t *plan, const struct error *err);
/* `launch` has no `spec`, and is borrowed during the call. A reference to `resolved` is kept. After
 * a negative result `done` is not called. */
int outlook_ask(struct loop *loop, json_t *resolved, const struct store_launch *launch,
                outlook_done *done, void *context, struct error *err);

#endif
