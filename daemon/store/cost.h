/* What workflows have cost, what they will have cost when they end, and what they may cost. */
#ifndef PHASED_DAEMON_STORE_COST_H
#define PHASED_DAEMON_STORE_COST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct phase;
struct store;

struct store_spending {
    double usd; /* NaN: the price is not known */
    double gpu_hours, hours;
};

/* What an hour of a node and of a GPU costs in a phase of the resolved workflow. If types of GPUs
 * are alternatives, the dearest counts. NaN: not known. */
struct store_price {
    double usd_per_node_hour, usd_per_gpu_hour;
};
struct store_price store_price_of(const json_t *resolved, const struct phase *phase);

/* How long similar phases took that have succeeded. If there is no such phase, `ret_mean_s` is NaN.
 */
int store_similar(struct store *store, const json_t *resolved, const struct phase *phase,
                  unsigned *ret_count, double *ret_mean_s, struct error *err);

/* The cost of all allocations of the workflow, with or without runs. */
int store_spending(struct store *store, uint64_t workflow, struct store_spending *ret_spending,
                   struct error *err);

/* The cost of all runs that began since `since_ms`, in all workflows. */
int store_spending_since(struct store *store, int64_t since_ms, struct store_spending *ret_spending,
                         struct error *err);

/* The budgets of the workflows that are not over: [{"workflow", "budget": {"usd", "gpu_hours",
 * "hours"}, "told": whether people were warned}]. */
int store_budgets(struct store *store, json_t **ret_budgets, struct error *err);
/* The budget of a workflow, also if the workflow is over: a new reference. NULL: it has no budget.
 */
int store_budget(struct store *store, uint64_t workflow, json_t **ret_budget, struct error *err);
/* Whether the workflow has a price, without which phased cannot count its dollars. */
int store_price_exists(struct store *store, uint64_t workflow, bool *ret_exists, struct error *err);

/* Sets a budget that replaces the file's budget. An empty object: no budget. People are warned
 * anew. */
int store_budget_set(struct store *store, uint64_t workflow, const json_t *budget,
                     struct error *err);
int store_budget_tell(struct store *store, uint64_t workflow, struct error *err);

/* The budget of this month ("2026-11") for all workflows together. If the month has no budget, the
 * budget of the newest month before. NULL: no budget. The caller owns the result. `ret_is_told`:
 * people were warned in this month that most of the budget is spent. */
int store_month_load(struct store *store, const char *month, json_t **ret_budget, bool *ret_is_told,
                     struct error *err);
int store_month_save(struct store *store, const char *month, const json_t *budget, bool is_told,
                     struct error *err);

/* [{"phase": its name, or null for the workflow, "expect": {"hours": [3, 5]}, "hours", "gpu_hours",
 * "usd"}]: what was taken by the workflow, and by each phase for which the file expects something.
 */
int answer_expected(struct store *store, uint64_t workflow, json_t **ret_list, struct error *err);

/* {"costs": [{"workflow", "name", "budget", "expect", "phase", "cause", "seconds", "gpu_seconds",
 * "cost_usd"}]} of all runs that began in this time, by phase. `workflow` 0: runs of all workflows,
 * by workflow, and "phase" is null. */
int answer_costs(struct store *store, uint64_t workflow, int64_t since_ms, int64_t until_ms,
                 json_t **ret_json, struct error *err);

/* --- What running phases will have cost when they end, if they keep their pace ---------------- */

/* Adds `projected_cost_usd` and `projected_gpu_seconds` to a phase. They are null while the phase's
 * end or price is not known, or if the phase has no GPUs. Takes out `gpus_paid`, which says how its
 * hours count. */
void projection_add(json_t *phase);

/* Does the same for a workflow. Running phases count until their end, other phases until now. Null
 * while no phase has a projection: phases that have not begun are not projected. */
void projection_sum(const json_t *phases, json_t *workflow);

#endif
