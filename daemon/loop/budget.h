/* Budgets: what a workflow has cost is compared with what it may cost, now and then, before each
 * submission, and when a phase goes on in the allocation of the one before. At 80 % that is said,
 * at 100 % its phases are held, those that run after a checkpoint. Likewise the month's, of all. */
#ifndef PHASED_DAEMON_LOOP_BUDGET_H
#define PHASED_DAEMON_LOOP_BUDGET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct loop;
struct store_spending;
struct workflow;

enum { BUDGET_EVERY_MS = 2000, BUDGET_MONTH_EVERY_MS = 30000, BUDGET_TEXT_SIZE = 100 };

/* What this month's runs have cost of what limits.yaml allows for a month. */
struct month {
    double part;
    char text[BUDGET_TEXT_SIZE];
    int64_t looked_ms;
    bool is_told;
};

/* The largest part of the budget that is spent (1: all of it); `text` says which: "$7.02 of $7".
 * What has no price counts as nothing. */
double budget_part(const json_t *budget, const struct store_spending *spent,
                   char text[BUDGET_TEXT_SIZE]);

/* Looks at all, when it is time. */
void budget_look(struct loop *loop, int64_t now_ms);
/* The part of the month's budget that is spent, and which; 0: there is none. At most half a minute
 * old, since all runs of the month are summed up. */
double budget_of_month(struct loop *loop, char text[BUDGET_TEXT_SIZE]);
/* Whether nothing more may be submitted for the workflow; then `text` says why, and budget_look()
 * will hold it at once. */
bool budget_is_spent(struct loop *loop, const struct workflow *workflow,
                     char text[BUDGET_TEXT_SIZE]);

#endif
