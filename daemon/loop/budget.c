/* Watching budgets. */
#include "daemon/loop/budget.h"

#include "daemon/loop/inside.h"
#include "daemon/loop/month.h"
#include "daemon/store/cost.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double budget_part(const json_t *budget, const struct store_spending *spent,
                   char text[BUDGET_TEXT_SIZE])
{
    const double amounts[AMOUNT_COUNT] = {
        [AMOUNT_USD] = spent->usd,
        [AMOUNT_GPU_HOURS] = spent->gpu_hours,
        [AMOUNT_HOURS] = spent->hours,
    };
    double largest = 0;
    text[0] = '\0';
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        double limit = json_number_value(json_object_get(budget, amount_key(i)));
        double part = limit > 0 && isfinite(amounts[i]) ? amounts[i] / limit : 0;
        if (part <= largest)
            continue;
        largest = part;
        (void)amount_format_share(i, amounts[i], limit, text);
    }
    return largest;
}

/* --- The warning ------------------------------------------------------------------------------ */

struct budget_item {
    struct loop_item item;
    uint64_t workflow;
    enum budget_of of;
    char message[BUDGET_TEXT_SIZE + 64];
};

static int budget_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct budget_item *item = (const struct budget_item *)base;
    struct store_event event = {.type = STORE_EVENT_WARNING,
                                .time_ms = loop_now_ms(),
                                .workflow = item->workflow,
                                .to = "budget", /* the kind of notice */
                                .message = item->message};
    int status = store_event_add(store, &event, err);
    if (status < 0 || item->of == BUDGET_OF_MONTH) /* whose row says itself what was told */
        return status;
    return store_budget_tell(store, item->workflow, err);
}

static void budget_free(struct loop_item *item)
{
    free(item);
}

void budget_warn(struct loop *loop, uint64_t workflow, enum budget_of of, double part,
                 const char *text)
{
    struct budget_item *item = xcalloc(1, sizeof *item);
    *item = (struct budget_item){
        .item = {.write = budget_write, .free = budget_free, .adds_history = true},
        .workflow = workflow,
        .of = of,
    };
    (void)snprintf(item->message, sizeof item->message, "%.0f %% of the %s is spent: %s",
                   100 * part, of == BUDGET_OF_MONTH ? "month's budget" : "budget", text);
    log_line("warning: workflow %llu: %s", (unsigned long long)workflow, item->message);
    loop_post_item(loop, &item->item, NULL);
}

/* --- Holding ---------------------------------------------------------------------------------- */

static bool phase_is_at_work(const struct phase *phase)
{
    const struct workflow *workflow = phase->workflow;
    bool has_one = phase->state == PHASE_QUEUED || phase->state == PHASE_ACTIVE;
    for (unsigned i = 0; phase->is_matrix && !has_one && i < phase->index; i++)
        has_one = workflow->phases[i].matrix == phase && phase_is_at_work(&workflow->phases[i]);
    return has_one;
}

/* Members are held by their matrix, all in one step: held one by one, each would give its lane to
 * the next. */
bool budget_hold(struct loop *loop, struct workflow *workflow, enum budget_of of, const char *text)
{
    char who[BUDGET_TEXT_SIZE + 64];
    bool has_held = false;
    (void)snprintf(who, sizeof who, "%s budget, of which %s is spent",
                   of == BUDGET_OF_MONTH ? "this month's" : "its", text);
    for (size_t i = 0; i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        if (phase->matrix || !phase_is_at_work(phase) ||
            core_command_check(phase, COMMAND_HOLD, NULL) < 0)
            continue;
        struct core_event event = {.kind = EV_COMMAND,
                                   .workflow = workflow,
                                   .phase = phase,
                                   .command = COMMAND_HOLD,
                                   .message = who};
        loop_post(loop, &event);
        has_held = true;
    }
    return has_held;
}

static void budget_judge(struct loop *loop, const json_t *row)
{
    uint64_t id = (uint64_t)json_integer_value(json_object_get(row, "workflow"));
    struct workflow *workflow = core_workflow(loop->core, id);
    struct store_spending spent;
    struct error err;
    char text[BUDGET_TEXT_SIZE];
    if (!workflow || store_spending(loop->config.store, id, &spent, &err) < 0)
        return;
    double part = budget_part(json_object_get(row, "budget"), &spent, text);
    bool is_told = json_is_true(json_object_get(row, "told"));
    if (part >= 1 ? budget_hold(loop, workflow, BUDGET_OF_WORKFLOW, text)
                  : part >= BUDGET_WARN_AT && !is_told)
        budget_warn(loop, id, BUDGET_OF_WORKFLOW, part, text);
}

/* --- Taking holds back ------------------------------------------------------------------------ */

struct budget_lift {
    uint64_t workflow;
    unsigned phase; /* its index */
};

void budget_lifts_fini(struct budget_lifts *lifts)
{
    free(lifts->items);
}

static bool is_spent(struct loop *loop, const struct workflow *workflow,
                     char text[BUDGET_TEXT_SIZE])
{
    struct store *store = loop->config.store;
    struct store_spending spent;
    struct error err;
    json_t *rows;
    bool is_spent = false;
    if (store_budgets(store, workflow->id, &rows, &err) < 0)
        return false; /* a record that cannot be read is told of elsewhere */
    const json_t *budget = json_object_get(json_array_get(rows, 0), "budget");
    if (budget && store_spending(store, workflow->id, &spent, &err) == 0)
        is_spent = budget_part(budget, &spent, text) >= 1;
    json_decref(rows);
    return is_spent;
}

/* Whether it, or a member of it, has still to stop before it is held. */
static bool phase_is_being_held(const struct phase *phase)
{
    const struct workflow *workflow = phase->workflow;
    const struct run *run = phase->run;
    bool has_one = run && run->state != RUN_ENDED && run->wish == WISH_HOLD &&
                   text_starts(phase->reason, "held by its budget");
    for (unsigned i = 0; phase->is_matrix && !has_one && i < phase->index; i++)
        has_one = workflow->phases[i].matrix == phase && phase_is_being_held(&workflow->phases[i]);
    return has_one;
}

void budget_lift(struct loop *loop, uint64_t id)
{
    struct budget_lifts *lifts = &loop->lifts;
    const struct workflow *workflow = core_workflow(loop->core, id);
    size_t count = 0;
    for (size_t i = 0; i < lifts->count; i++) /* the newest budget alone decides */
        if (lifts->items[i].workflow != id)
            lifts->items[count++] = lifts->items[i];
    lifts->count = count;
    for (unsigned i = 0; workflow && i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (phase->matrix || !phase_is_being_held(phase))
            continue;
        lifts->items = xreallocarray(lifts->items, lifts->count + 1, sizeof *lifts->items);
        lifts->items[lifts->count++] = (struct budget_lift){.workflow = id, .phase = i};
    }
}

/* False: it is over with this one. */
static bool lift_is_under_way(struct loop *loop, const struct budget_lift *lift)
{
    char text[BUDGET_TEXT_SIZE];
    struct workflow *workflow = core_workflow(loop->core, lift->workflow);
    if (!workflow || is_spent(loop, workflow, text))
        return false;
    struct phase *phase = &workflow->phases[lift->phase];
    if (phase_is_being_held(phase))
        return true;
    struct core_event event = {.kind = EV_COMMAND,
                               .workflow = workflow,
                               .phase = phase,
                               .command = COMMAND_RELEASE,
                               .message = "its new budget"};
    if (core_command_check(phase, COMMAND_RELEASE, NULL) == 0)
        loop_post(loop, &event);
    return false;
}

static void budget_take_back(struct loop *loop)
{
    struct budget_lifts *lifts = &loop->lifts;
    size_t count = 0;
    for (size_t i = 0; i < lifts->count; i++)
        if (lift_is_under_way(loop, &lifts->items[i]))
            lifts->items[count++] = lifts->items[i];
    lifts->count = count;
}

/* --- Looking ---------------------------------------------------------------------------------- */

void budget_look(struct loop *loop, int64_t now_ms)
{
    json_t *rows, *row;
    size_t i;
    struct error err;
    if (now_ms < loop->budget_ms || loop->trouble[0])
        return;
    loop->budget_ms = now_ms + BUDGET_EVERY_MS;
    if (store_budgets(loop->config.store, 0, &rows, &err) < 0) {
        log_line("could not read the budgets: %s", err.message);
        return;
    }
    json_array_foreach(rows, i, row) budget_judge(loop, row);
    json_decref(rows);
    month_judge(loop);
    budget_take_back(loop);
}

bool budget_allows(struct loop *loop, const struct workflow *workflow, char ret_reason[REASON_MAX])
{
    char text[BUDGET_TEXT_SIZE];
    if (is_spent(loop, workflow, text))
        (void)snprintf(ret_reason, REASON_MAX, "its budget is spent: %s", text);
    else if (month_part(loop, text) >= 1)
        (void)snprintf(ret_reason, REASON_MAX, "this month's budget (limits.yaml) is spent: %s",
                       text);
    else
        return true;
    loop->budget_ms = 0; /* look at once */
    return false;
}
