/* Whether a job may be submitted now. These are the conditions:
 *
 * - If its workflow comes after another workflow, the other workflow has succeeded.
 * - The time of day is within the window of the workflow.
 * - The budget of the workflow and the budget of the month are not spent.
 * - limits.yaml leaves room for another job and its GPUs in Slurm.
 * - No other job that waits for such room comes first (round.h).
 *
 * A job that may not be submitted waits in the outbox. The reason of the job tells people what the
 * job waits for. All waiting jobs are looked at together, every ADMISSION_AGAIN_MS.
 *
 * The cost of a workflow is compared with its budget every two seconds (less often if the
 * comparison takes long, but at least once a minute), before each submission, and before a phase
 * goes on in the allocation of the phase before. At 80 % people are warned. At 100 % the phases of
 * the workflow are held. Phases that run are held after a checkpoint. The budget of the month is
 * treated alike. It counts all workflows together. */
#ifndef PHASED_DAEMON_ADMISSION_ADMISSION_H
#define PHASED_DAEMON_ADMISSION_ADMISSION_H

#include "daemon/core/model.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct room;

extern const struct room admission_room;

enum { ADMISSION_AGAIN_MS = 2000 };

/* Whether the job may be submitted now. Its submission is due. False: `ret_reason` says what the
 * job waits for. The job must then be due again in admission_again_in_ms(), with the other jobs. */
bool admission_asks(struct loop *loop, struct workflow *workflow,
                    const struct allocation *allocation, char ret_reason[REASON_MAX]);
/* All waiting jobs are due at the same moments, because one round decides about all of them. Jobs
 * that are due at one moment ask in their order, the oldest first. Never 0. */
int admission_again_in_ms(struct loop *loop);
/* The place of a job among the runs that wait for limits.yaml, as of the last round. 1 is the next
 * job. 0: the job does not wait for limits.yaml. */
unsigned admission_position(struct loop *loop, uint64_t job);

/* A budget that is spent. */
struct admission_spent {
    enum budget budget;
    enum amount amount;      /* the unit in which too much is spent */
    char reason[REASON_MAX]; /* "its budget is spent: $7.02 of $7" */
};

/* Whether the budgets let the workflow begin something more. False: `ret_spent` says why not. */
bool admission_can_pay(struct loop *loop, const struct workflow *workflow,
                       struct admission_spent *ret_spent);
/* As admission_can_pay(), for a caller that wants to begin something. False: the workflow will be
 * held soon. */
bool admission_pays(struct loop *loop, const struct workflow *workflow,
                    struct admission_spent *ret_spent);

/* The workflow `id` has a new budget. Some of its phases may be about to be held for the old
 * budget: their runs have not stopped yet. Each such phase is released when its run has stopped, if
 * the new budget allows that. So no person has to wait for that moment. If the daemon ends before,
 * it forgets this, and the phase stays held. */
void admission_lift(struct loop *loop, uint64_t id);

enum admission_when { ADMISSION_NOW, ADMISSION_LATER, ADMISSION_NEVER };

/* When a job with so many GPUs could be submitted, as far as limits.yaml says. `ret_reason` says
 * why the job cannot be submitted now. */
enum admission_when admission_forecast(struct loop *loop, unsigned gpus,
                                       char ret_reason[REASON_MAX]);
/* Whether the budget of the month is spent. `ret_spent` says how much is spent: "$502 of $500". */
bool admission_month_is_spent(struct loop *loop, char ret_spent[REASON_MAX]);

#endif
