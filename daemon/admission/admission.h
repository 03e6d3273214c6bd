/* Whether a job may be submitted now. What must be so:
 *
 *   - the workflow that its own is to come after has succeeded,
 *   - the time of day is within the workflow's window,
 *   - its budget, and that of the month, have something left,
 *   - the jobs and GPUs that limits.yaml allows are not all in Slurm, and
 *   - no other job that waits for that comes first: turns.h.
 *
 * A job that may not be submitted waits in the outbox, and the job's reason tells people for what.
 * All of them are looked at together, every ADMISSION_AGAIN_MS.
 *
 * What a workflow has cost is compared with its budget every two seconds, before each submission,
 * and when a phase goes on in the allocation of the one before. At 80 % that is said. At 100 % the
 * workflow's phases are held, those that run after a checkpoint. Likewise for the month's budget,
 * of all workflows together. */
#ifndef PHASED_DAEMON_ADMISSION_ADMISSION_H
#define PHASED_DAEMON_ADMISSION_ADMISSION_H

#include "daemon/core/model.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct room;

extern const struct room admission_room;

enum { ADMISSION_AGAIN_MS = 2000 };

/* Whether the job, whose submission is due, may be submitted now. False: `ret_reason` says for what
 * it waits; it is to be due again in admission_again_in_ms(), with the others. */
bool admission_asks(struct loop *loop, struct workflow *workflow, const struct allocation *job,
                    char ret_reason[REASON_MAX]);
int admission_again_in_ms(void); /* more than 0 */
/* The place of a job among the runs that wait for limits.yaml: 1 is the next; 0: the job does not
 * wait for limits.yaml. As of the last round. */
unsigned admission_turn(struct loop *loop, uint64_t job);

/* Whether the budgets let something more begin for the workflow. False: `ret_reason` says why not,
 * and the workflow will be held. */
bool admission_pays(struct loop *loop, const struct workflow *workflow,
                    char ret_reason[REASON_MAX]);

/* The workflow `id` has a new budget. What is being held for the old one, and has not stopped yet,
 * is released when it has, if the new budget allows it: a person would have to wait for that
 * moment. A daemon that ends before it forgets this, and the phase stays held. */
void admission_lift(struct loop *loop, uint64_t id);

enum admission_when { ADMISSION_NOW, ADMISSION_LATER, ADMISSION_NEVER };

/* When a job with so many GPUs could be submitted, as far as limits.yaml says; `ret_reason` says
 * why it cannot be now. */
enum admission_when admission_forecast(struct loop *loop, unsigned gpus,
                                       char ret_reason[REASON_MAX]);
/* Whether the month's budget is spent; `ret_spent` says how much: "$502 of $500". */
bool admission_month_is_spent(struct loop *loop, char ret_spent[REASON_MAX]);

#endif
