/* The costs of workflows, and their budgets. */
#include "daemon/api/api_private.h"

#include "daemon/admission/admission.h"
#include "daemon/loop/loop.h"
#include "daemon/store/cost.h"
#include "lib/amount.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <inttypes.h>
#include <stdlib.h>

#define COST_SECONDS_MAX (INT64_MAX / 1000) /* the record counts milliseconds */

/* A new budget, and the request that sets it, until the commit. */
struct cost_item {
    struct loop_item item;
    struct loop *loop;
    struct request *request;
    uint64_t workflow;
    json_t *budget;
};

void cost_get(struct call *call)
{
    uint64_t workflow, since_s, until_s;
    json_t *json = NULL, *expected = NULL;
    struct store *store = loop_store(call->api->config.loop);
    struct error err;
    if (!call_number(call, "workflow", 0, &workflow) || !call_number(call, "since", 0, &since_s) ||
        !call_number(call, "until", COST_SECONDS_MAX, &until_s))
        return;
    since_s = since_s < COST_SECONDS_MAX ? since_s : COST_SECONDS_MAX;
    until_s = until_s < COST_SECONDS_MAX ? until_s : COST_SECONDS_MAX;
    int status = answer_costs(store, workflow, (int64_t)since_s * 1000, (int64_t)until_s * 1000,
                              &json, &err);
    if (status == 0 && workflow)
        status = answer_expected(store, workflow, &expected, &err);
    if (status == 0 && workflow)
        (void)json_object_set_new(json, "expected", expected);
    call_answer(call, status, json, &err);
}

static int cost_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct cost_item *item = (const struct cost_item *)base;
    return store_budget_set(store, item->workflow, item->budget, err);
}

static void cost_done(struct loop_item *base, const struct error *failure)
{
    struct cost_item *item = (struct cost_item *)base;
    /* After a failure, the loop looks again only when the budget is committed. */
    admission_lift(item->loop, item->workflow);
    if (failure)
        call_fail_later(item->request, failure);
    else
        request_reply_json(item->request, 200, json_pack("{s:O}", "budget", item->budget));
}

static void cost_free(void *context)
{
    struct cost_item *item = context;
    json_decref(item->budget);
    free(item);
}

static bool cost_is_budget(const json_t *budget)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)budget, key, value)
    {
        if (amount_parse(key) < 0 || !json_is_number(value) || json_number_value(value) <= 0)
            return false;
    }
    return true;
}

/* Answers the call if the budget would hold nothing: no dollars are counted without a price. */
static bool cost_can_count(struct call *call, const json_t *budget)
{
    uint64_t workflow = call->address.workflow;
    struct error err;
    bool has_price;
    if (!json_object_get(budget, amount_key(AMOUNT_USD)))
        return true;
    if (store_price_exists(loop_store(call->api->config.loop), workflow, &has_price, &err) < 0) {
        call_fail(call->request, call->text, &err);
        return false;
    }
    if (!has_price)
        request_reply_error(call->request, API_CONFLICT, NULL,
                            "workflow %" PRIu64 " has no price, so phased cannot count its "
                            "dollars: give a budget in GPU hours or hours instead",
                            workflow);
    return has_price;
}

void budget_post(struct call *call)
{
    struct workflow *workflow;
    struct error err;
    if (!call_can_record(call))
        return;
    int status = loop_workflow(call->api->config.loop, call->address.workflow, &workflow, &err);
    if (status < 0) {
        call_fail(call->request, call->text, &err);
        return;
    }
    json_t *budget = call_body(call);
    if (!budget)
        return;
    if (!cost_is_budget(budget)) {
        request_reply_error(call->request, API_BAD_REQUEST, "budget",
                            "budget: usd, gpu_hours and hours must be numbers above 0");
        json_decref(budget);
        return;
    }
    if (!cost_can_count(call, budget)) {
        json_decref(budget);
        return;
    }
    struct cost_item *item = xcalloc(1, sizeof *item);
    *item = (struct cost_item){
        .item = {.write = cost_write, .done = cost_done, .free = cost_free},
        .loop = call->api->config.loop,
        .request = call->request,
        .workflow = call->address.workflow,
        .budget = budget,
    };
    loop_post_item(call->api->config.loop, &item->item, NULL);
}
