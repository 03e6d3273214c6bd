/* From a resolved workflow (lib/spec/spec.h) to the core's model of it. */
#ifndef PHASED_DAEMON_LOOP_MODEL_OF_H
#define PHASED_DAEMON_LOOP_MODEL_OF_H

#include <jansson.h>

struct error;
struct workflow;

/* A new workflow without ids, the caller's to workflow_free() or core_add(). */
int model_of_workflow(const json_t *resolved, struct workflow **ret_workflow, struct error *err);

#endif
