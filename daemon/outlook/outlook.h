/* What would become of a workflow if it were submitted now: where its phases fit, when Slurm would
 * start them, what they would take. Nothing is decided or recorded. */
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

/* From a resolved workflow (lib/spec/spec.h) to the core's model of it: a new workflow without ids,
 * the caller's to workflow_free() or core_add(). */
int outlook_model(const json_t *resolved, struct workflow **ret_workflow, struct error *err);

/* Told once: the answer, borrowed; NULL: the loop was closed before there was one. */
typedef void outlook_surveyed(void *arg, const struct cluster_result *result);
/* Asks the cluster what it is and when these jobs (at most SURVEY_FORECASTS_MAX) would start.
 * -EBUSY: too much is asked already; -EINVAL: one of them cannot be submitted anywhere. Then `done`
 * is not called. */
int outlook_survey(struct loop *loop, const struct cluster_description *const *descriptions,
                   size_t count, outlook_surveyed *done, void *arg, struct error *err);

/* Told once: the plan as doc/api.md has it, the callee's; NULL: `err` says why, or is NULL itself
 * when the loop was closed. */
typedef void outlook_done(void *arg, json_t *plan, const struct error *err);
/* `launch` has no `spec`; it is borrowed during the call, `resolved` is kept a reference to.
 * Negative: `done` is not called. */
int outlook_ask(struct loop *loop, json_t *resolved, const struct store_launch *launch,
                outlook_done *done, void *arg, struct error *err);

#endif
