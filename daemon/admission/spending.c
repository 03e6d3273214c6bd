/* What is said and done when a budget is spent. */
#include "daemon/admission/admission_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/cost.h"
#include "daemon/store/store.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct spending spending_of(const json_t *budget, const struct store_spending *cost)
{
    const double amounts[AMOUNT_COUNT] = {
        [AMOUNT_USD] = cost->usd,
        [AMOUNT_GPU_HOURS] = cost->gpu_hours,
        [AMOUNT_HOURS] = cost->hours,
    };
    struct spending spent = {0};
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        double limit = json_number_value(json_object_get(budget, amount_key(i)));
        double part = limit > 0 && isfinite(amounts[i]) ? amounts[i] / limit : 0;
        if (part <= spent.part)
            continue;
        spent.part = part;
        spent.amount = i;
        (void)amount_format_share(i, amounts[i], limit, spent.text);
    }
    return spent;
}

/* --- The warning ------------------------------------------------------------------------------ */

struct spending_item {
    struct loop_item item;
    uint64_t workflow;
    enum budget budget;
    char message[BUDGET_TEXT_SIZE + 64];
};

static int spending_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct spending_item *item = (const struct spending_item *)base;
    struct store_event event = {.type = EVENT_WARNING,
                                .time_ms = loop_now_ms(),
                                .workflow = item->workflow,
                                .to = notice_kind_name(NOTICE_BUDGET),
                                .message = item->message};
    int status = store_event_add(store, &event, err);
    if (status < 0 || item->budget == BUDGET_MONTH) /* month.c records the warning */
        return status;
    return store_budget_tell(store, item->workflow, err);
}

void spending_warn(struct loop *loop, uint64_t workflow, enum budget budget,
                   const struct spending *spent)
{
    struct spending_item *item = xcalloc(1, sizeof *item);
    *item = (struct spending_item){
        .item = {.write = spending_write, .free = free, .adds_history = true},
        .workflow = workflow,
        .budget = budget,
    };
    (void)snprintf(item->message, sizeof item->message, "%.0f %% of the %s is spent: %s",
                   100 * spent->part, budget == BUDGET_MONTH ? "month's budget" : "budget",
                   spent->text);
    log_line("warning: workflow %llu: %s", (unsigned long long)workflow, item->message);
    loop_post_item(loop, &item->item, NULL);
}

/* --- Holding ---------------------------------------------------------------------------------- */

static bool phase_is_at_work(const struct phase *phase)
{
    const struct matrix *matrix = phase->members;
    bool has_one = phase->state == PHASE_QUEUED || phase->state == PHASE_ACTIVE;
    for (size_t i = 0; matrix && !has_one && i < matrix->count; i++)
        has_one = phase_is_at_work(matrix->members[i]);
    return has_one;
}

/* The matrix holds its members, all in one step. If the members were held one by one, each would
 * give its lane to the next member. */
bool spending_hold(struct loop *loop, struct workflow *workflow, enum budget budget,
                   const struct spending *spent)
{
    char who[BUDGET_TEXT_SIZE + 64];
    bool has_held = false;
    (void)snprintf(who, sizeof who, "%s budget, of which %s is spent",
                   budget == BUDGET_MONTH ? "this month's" : "its", spent->text);
    for (size_t i = 0; i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        if (phase->matrix || !phase_is_at_work(phase) ||
            core_command_check(phase, COMMAND_HOLD, NULL) < 0)
            continue;
        struct core_event event = {.kind = EV_COMMAND,
                                   .workflow = workflow,
                                   .phase = phase,
                                   .command = COMMAND_HOLD,
                                   .budget = budget,
                                   .amount = spent->amount,
                                   .message = who};
        loop_post(loop, &event);
        has_held = true;
    }
    return has_held;
}
