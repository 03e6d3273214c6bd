/* Watching budgets. */
#include "daemon/loop/budget.h"

#include "daemon/loop/inside.h"
#include "daemon/loop/log.h"
#include "daemon/store/cost.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BUDGET_WARN_AT 0.8

double budget_part(const json_t *budget, const struct store_spending *spent,
                   char text[BUDGET_TEXT_SIZE])
{
    const struct {
        const char *key, *before, *after;
        double spent;
    } kinds[] = {
        {"usd", "$", "", spent->usd},
        {"gpu_hours", "", " GPU hours", spent->gpu_hours},
        {"hours", "", " hours", spent->hours},
    };
    double largest = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double limit = json_number_value(json_object_get(budget, kinds[i].key));
        double part = limit > 0 && isfinite(kinds[i].spent) ? kinds[i].spent / limit : 0;
        if (part <= largest)
            continue;
        largest = part;
        (void)snprintf(text, BUDGET_TEXT_SIZE, "%s%.2f of %s%g%s", kinds[i].before, kinds[i].spent,
                       kinds[i].before, limit, kinds[i].after);
    }
    return largest;
}

/* --- The warning -------------------------------------------------------------------------------*/

struct budget_item {
    struct loop_item item;
    uint64_t workflow;
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
    int status = store_budget_tell(store, item->workflow, err);
    return status < 0 ? status : store_event_add(store, &event, err);
}

static void budget_free(struct loop_item *item)
{
    free(item);
}

static void budget_warn(struct loop *loop, uint64_t workflow, double part, const char *which,
                        const char *text)
{
    struct budget_item *item = calloc(1, sizeof *item);
    if (!item)
        abort();
    *item = (struct budget_item){
        .item = {.write = budget_write, .free = budget_free, .adds_history = true},
        .workflow = workflow,
    };
    (void)snprintf(item->message, sizeof item->message, "%.0f %% of the %s is spent: %s",
                   100 * part, which, text);
    log_line("warning: workflow %llu: %s", (unsigned long long)workflow, item->message);
    loop_post_item(loop, &item->item, NULL);
}

/* --- Holding -----------------------------------------------------------------------------------*/

/* Those that are or will soon be at work; the others wait for them anyway. False: there were none,
 * or they are being held already. */
static bool budget_hold(struct loop *loop, struct workflow *workflow, const char *whose,
                        const char *text)
{
    char who[BUDGET_TEXT_SIZE + 64];
    bool has_held = false;
    (void)snprintf(who, sizeof who, "%s budget, of which %s is spent", whose, text);
    for (size_t i = 0; i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        bool is_at_work = phase->state == PHASE_QUEUED || phase->state == PHASE_ACTIVE;
        if (!is_at_work || core_command_check(phase, COMMAND_HOLD, NULL) < 0)
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

static void budget_judge(struct loop *loop, const json_t *row, int64_t now_ms)
{
    uint64_t id = (uint64_t)json_integer_value(json_object_get(row, "workflow"));
    struct workflow *workflow = core_workflow(loop->core, id);
    struct store_spending spent;
    struct error err;
    char text[BUDGET_TEXT_SIZE];
    if (!workflow || store_spending(loop->config.store, id, now_ms, &spent, &err) < 0)
        return;
    double part = budget_part(json_object_get(row, "budget"), &spent, text);
    bool is_told = json_is_true(json_object_get(row, "told"));
    if (part >= 1 ? budget_hold(loop, workflow, "its", text) : part >= BUDGET_WARN_AT && !is_told)
        budget_warn(loop, id, part, "budget", text);
}

/* --- The month ---------------------------------------------------------------------------------*/

static int64_t month_begin_ms(void)
{
    time_t now = time(NULL);
    struct tm tm;
    (void)localtime_r(&now, &tm);
    tm = (struct tm){.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = 1, .tm_isdst = -1};
    return (int64_t)mktime(&tm) * 1000;
}

double budget_of_month(struct loop *loop, char text[BUDGET_TEXT_SIZE])
{
    struct month *month = &loop->month;
    const json_t *budget = json_object_get(queue_limits(loop), "month");
    struct store_spending spent;
    struct error err;
    int64_t now_ms = loop_now_ms();
    if (!budget)
        return 0;
    if (now_ms >= month->looked_ms + BUDGET_MONTH_EVERY_MS || now_ms < month->looked_ms) {
        if (store_spending_since(loop->config.store, month_begin_ms(), &spent, &err) < 0)
            return 0; /* a record that cannot be read is told of elsewhere */
        month->part = budget_part(budget, &spent, month->text);
        month->looked_ms = now_ms;
    }
    (void)snprintf(text, BUDGET_TEXT_SIZE, "%s", month->text);
    return month->part;
}

static void budget_judge_month(struct loop *loop)
{
    char text[BUDGET_TEXT_SIZE];
    double part = budget_of_month(loop, text);
    bool warns = part >= BUDGET_WARN_AT && part < 1 && !loop->month.is_told;
    loop->month.is_told = part >= BUDGET_WARN_AT;
    for (size_t i = 0; i < core_workflow_count(loop->core); i++) {
        struct workflow *workflow = core_workflow_at(loop->core, i);
        if (part >= 1 ? budget_hold(loop, workflow, "this month's", text)
                      : warns && !workflow_is_final(workflow))
            budget_warn(loop, workflow->id, part, "month's budget", text);
    }
}

void budget_look(struct loop *loop, int64_t now_ms)
{
    json_t *rows, *row;
    size_t i;
    struct error err;
    if (loop->budget_ms > now_ms + BUDGET_EVERY_MS)
        loop->budget_ms = now_ms; /* the clock was set back */
    if (now_ms < loop->budget_ms || loop->trouble[0])
        return;
    loop->budget_ms = now_ms + BUDGET_EVERY_MS;
    if (store_budgets(loop->config.store, 0, &rows, &err) < 0) {
        log_line("could not read the budgets: %s", err.message);
        return;
    }
    json_array_foreach(rows, i, row) budget_judge(loop, row, now_ms);
    json_decref(rows);
    budget_judge_month(loop);
}

bool budget_is_spent(struct loop *loop, const struct workflow *workflow,
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
    if (budget && store_spending(store, workflow->id, loop_now_ms(), &spent, &err) == 0)
        is_spent = budget_part(budget, &spent, text) >= 1;
    if (is_spent)
        loop->budget_ms = 0;
    json_decref(rows);
    return is_spent;
}
