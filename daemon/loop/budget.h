/* Budgets: what a workflow has cost is compared with what it may cost, now and then, before each
 * submission, and when a phase goes on in the allocation of the one before. At 80 % that is said,
 * at 100 % its phases are held, those that run after a checkpoint. Likewise the month's, of all
 * (month.h). */
#ifndef PHASED_DAEMON_LOOP_BUDGET_H
#define PHASED_DAEMON_LOOP_BUDGET_H

#include "daemon/core/model.h"
#include "lib/amount.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct store_spending;
struct workflow;

/* Phases whose hold is to be taken back. */
struct budget_lifts {
    struct budget_lift *items;
    size_t count;
};
void budget_lifts_fini(struct budget_lifts *lifts);

enum { BUDGET_EVERY_MS = 2000, BUDGET_TEXT_SIZE = AMOUNT_SHARE_SIZE };

#define BUDGET_WARN_AT 0.8

/* The largest part of the budget that is spent (1: all of it); `text` says which: "$7.02 of $7".
 * What has no price counts as nothing. */
double budget_part(const json_t *budget, const struct store_spending *spent,
                   char text[BUDGET_TEXT_SIZE]);

/* Looks at all, when it is time. */
void budget_look(struct loop *loop, int64_t now_ms);
/* Whether something more may begin for the workflow, of its own budget and of the month's. False:
 * `ret_reason` says why not, and budget_look() will hold it. */
bool budget_allows(struct loop *loop, const struct workflow *workflow, char ret_reason[REASON_MAX]);

enum budget_of { BUDGET_OF_WORKFLOW, BUDGET_OF_MONTH };

/* Holds what is or will soon be at work; the others wait for that anyway. `text` says how much is
 * spent. False: there was nothing, or it is being held already. */
bool budget_hold(struct loop *loop, struct workflow *workflow, enum budget_of of, const char *text);
/* Its budget is another one now. What is being held for the old one, and has not stopped yet, is
 * released when it has, if the new one allows it: a person would have to wait for that moment. A
 * daemon that ends before it forgets this, and the phase stays held. */
void budget_lift(struct loop *loop, uint64_t id);
/* Says in the workflow's history that this part is spent. */
void budget_warn(struct loop *loop, uint64_t workflow, enum budget_of of, double part,
                 const char *text);

#endif
