/* Reads costs and budgets, and projects costs. */
#include "daemon/store/cost.h"

#include "daemon/core/model.h"
#include "daemon/store/row_json.h"
#include "daemon/store/store_private.h"
#include "lib/json.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>

/* A row of Q_SPENDING or Q_MONTH_SPENDING. */
static int spending_read(struct stmt *stmt, struct store_spending *ret_spending, struct error *err)
{
    int status = stmt_step(stmt, err);
    if (status < 0)
        return status;
    ret_spending->usd = stmt_real(stmt, "usd");
    ret_spending->gpu_hours = stmt_real(stmt, "gpu_hours");
    ret_spending->hours = stmt_real(stmt, "hours");
    stmt_reset(stmt);
    return 0;
}

/* The price of the dearest of several types, "h200,h100": which type Slurm will give is not known.
 */
static double cost_by_gpu(const json_t *prices, const char *types)
{
    double dearest = NAN;
    for (char *type; (type = text_take_item(&types));) {
        double one = json_number(json_object_get(prices, type));
        free(type);
        if (isnan(one))
            return NAN;
        dearest = isnan(dearest) || one > dearest ? one : dearest;
    }
    return dearest;
}

struct store_price store_price_of(const json_t *resolved, const struct phase *phase)
{
    const json_t *price = json_object_get(resolved, "price");
    const json_t *per_gpu = json_object_get(price, "per_gpu_hour");
    const char *types = phase_gpu_types(phase);
    if (phase->gpus_per_node == 0) /* nobody has said what a node without GPUs costs */
        return (struct store_price){NAN, NAN};
    return (struct store_price){
        .usd_per_node_hour = json_number(json_object_get(price, "per_node_hour")),
        .usd_per_gpu_hour =
            per_gpu ? json_number(per_gpu) : cost_by_gpu(json_object_get(price, "by_gpu"), types),
    };
}

int store_similar(struct store *store, const json_t *resolved, const struct phase *phase,
                  unsigned *ret_count, double *ret_mean_s, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PHASE_SIMILAR);
    const json_t *spec = json_array_get(json_object_get(resolved, "phases"), phase->index);
    double total = json_number(json_object_get(json_object_get(spec, "progress"), "total"));
    json_t *variants = json_object_get(resolved, "variants"), *none = json_array();
    stmt_bind_text(stmt, ":workflow", phase->workflow->name);
    stmt_bind_text(stmt, ":phase", phase->name);
    stmt_bind_json(stmt, ":variants", variants ? variants : none);
    stmt_bind_int(stmt, ":nodes", phase->nodes);
    stmt_bind_int(stmt, ":gpus", phase->gpus_per_node);
    stmt_bind_text(stmt, ":gpu_types", phase_gpu_types(phase));
    stmt_bind_real(stmt, ":total", total);
    int status = stmt_step(stmt, err);
    json_decref(none);
    if (status < 0)
        return status;
    *ret_count = stmt_unsigned(stmt, "count");
    *ret_mean_s = stmt_real(stmt, "mean_s");
    stmt_reset(stmt);
    return 0;
}

int store_spending(struct store *store, uint64_t workflow, struct store_spending *ret_spending,
                   struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_SPENDING);
    stmt_bind_id(stmt, ":workflow", workflow);
    return spending_read(stmt, ret_spending, err);
}

int store_spending_since(struct store *store, int64_t since_ms, struct store_spending *ret_spending,
                         struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_MONTH_SPENDING);
    stmt_bind_int(stmt, ":since", since_ms);
    return spending_read(stmt, ret_spending, err);
}

int store_budgets(struct store *store, json_t **ret_budgets, struct error *err)
{
    return row_json_list(store_stmt(store, Q_BUDGETS), ret_budgets, err);
}

int store_budget(struct store *store, uint64_t workflow, json_t **ret_budget, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_BUDGET);
    stmt_bind_id(stmt, ":workflow", workflow);
    int status = stmt_step(stmt, err);
    if (status < 0)
        return status;
    *ret_budget = status ? stmt_json(stmt, "budget") : NULL;
    if (status)
        stmt_reset(stmt);
    return 0;
}

int store_price_exists(struct store *store, uint64_t workflow, bool *ret_exists, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PRICE_EXISTS);
    uint64_t id = 0;
    stmt_bind_id(stmt, ":workflow", workflow);
    int status = stmt_read_id(stmt, "id", &id, err);
    *ret_exists = id != 0;
    return status;
}

int store_budget_set(struct store *store, uint64_t workflow, const json_t *budget,
                     struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_BUDGET_SET);
    stmt_bind_id(stmt, ":workflow", workflow);
    stmt_bind_json(stmt, ":budget", budget);
    return stmt_run(stmt, err);
}

int store_budget_tell(struct store *store, uint64_t workflow, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_BUDGET_TELL);
    stmt_bind_id(stmt, ":workflow", workflow);
    return stmt_run(stmt, err);
}

int store_month_load(struct store *store, const char *month, json_t **ret_budget, bool *ret_is_told,
                     struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_MONTH_LOAD);
    stmt_bind_text(stmt, ":month", month);
    int status = stmt_step(stmt, err);
    if (status < 0)
        return status;
    *ret_budget = status ? stmt_json(stmt, "budget") : NULL;
    *ret_is_told = status && stmt_bool(stmt, "told");
    if (status)
        stmt_reset(stmt);
    return 0;
}

int store_month_save(struct store *store, const char *month, const json_t *budget, bool is_told,
                     struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_MONTH_SAVE);
    stmt_bind_text(stmt, ":month", month);
    stmt_bind_json(stmt, ":budget", budget);
    stmt_bind_int(stmt, ":told", is_told);
    return stmt_run(stmt, err);
}

int answer_expected(struct store *store, uint64_t workflow, json_t **ret_list, struct error *err)
{
    struct stmt *phases = store_stmt(store, Q_EXPECTED_ANSWER);
    struct stmt *whole = store_stmt(store, Q_EXPECTED_WHOLE);
    json_t *list, *last;
    stmt_bind_id(phases, ":workflow", workflow);
    int status = row_json_list(phases, &list, err);
    if (status < 0)
        return status;
    stmt_bind_id(whole, ":workflow", workflow);
    status = row_json_list(whole, &last, err);
    if (status < 0) {
        json_decref(list);
        return status;
    }
    (void)json_array_extend(list, last);
    json_decref(last);
    *ret_list = list;
    return 0;
}

int answer_costs(struct store *store, uint64_t workflow, int64_t since_ms, int64_t until_ms,
                 json_t **ret_json, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_COSTS_ANSWER);
    json_t *costs;
    stmt_bind_id(stmt, ":workflow", workflow);
    stmt_bind_int(stmt, ":since", since_ms);
    stmt_bind_int(stmt, ":until", until_ms);
    int status = row_json_list(stmt, &costs, err);
    if (status == 0)
        *ret_json = json_pack("{s:o}", "costs", costs);
    return status;
}

/* --- Projections ------------------------------------------------------------------------------ */

static const struct {
    const char *spent, *rate, *projected;
    double rate_s; /* the seconds to which the rate applies */
} projections[] = {
    {"cost_usd", "usd_per_hour", "projected_cost_usd", 3600},
    {"gpu_seconds", "gpus_paid", "projected_gpu_seconds", 1},
};

enum { PROJECTIONS = sizeof projections / sizeof *projections };

void projection_add(json_t *phase)
{
    const json_t *eta_s = json_object_get(phase, "eta_s");
    for (size_t i = 0; i < PROJECTIONS; i++) {
        const json_t *rate = json_object_get(phase, projections[i].rate);
        double spent = json_number_value(json_object_get(phase, projections[i].spent));
        json_t *projected = json_null();
        if (json_is_number(eta_s) && json_is_number(rate))
            projected = json_real(spent + json_number_value(eta_s) * json_number_value(rate) /
                                              projections[i].rate_s);
        json_object_set_new(phase, projections[i].projected, projected);
    }
    (void)json_object_del(phase, "gpus_paid"); /* only this file needs it */
}

void projection_sum(const json_t *phases, json_t *workflow)
{
    const json_t *phase;
    size_t j;
    for (size_t i = 0; i < PROJECTIONS; i++) {
        double sum = 0;
        bool is_known = false;
        json_array_foreach((json_t *)phases, j, phase)
        {
            const json_t *projected = json_object_get(phase, projections[i].projected);
            bool has_one = json_is_number(projected);
            is_known |= has_one;
            sum += json_number_value(has_one ? projected
                                             : json_object_get(phase, projections[i].spent));
        }
        json_object_set_new(workflow, projections[i].projected,
                            is_known ? json_real(sum) : json_null());
    }
}
