/* What a person may do with a phase now. daemon/core decides it, so that no client has to know the
 * rules. */
#ifndef PHASED_DAEMON_API_CAN_H
#define PHASED_DAEMON_API_CAN_H

#include <jansson.h>

struct loop;
struct workflow;

/* Adds `can` to each phase of an answer: the verbs that the phase takes now. `json` is a WORKFLOW
 * or a PHASE of this workflow. The sums of a matrix get a `can` of their own: how many members take
 * each verb. For a held phase, `hold_budget` and `hold_amount` then name the budget that must be
 * raised before it can go on. They are null if the budgets have room by now. */
void can_add(struct loop *loop, const struct workflow *workflow, json_t *json);

#endif
