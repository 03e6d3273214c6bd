/* Watching the month's budget. */
#include "daemon/admission/admission.h"
#include "daemon/admission/admission_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/cost.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MONTH_EVERY_MS = 30000 };

/* Returns when the current month began in local time. `name` gets the name of the month. */
static int64_t month_begin_ms(char name[MONTH_NAME_SIZE])
{
    time_t now = loop_now_ms() / 1000;
    struct tm tm;
    (void)localtime_r(&now, &tm);
    tm = (struct tm){.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = 1, .tm_isdst = -1};
    int64_t begin_ms = (int64_t)mktime(&tm) * 1000;
    (void)strftime(name, MONTH_NAME_SIZE, "%Y-%m", &tm);
    return begin_ms;
}

/* --- In the record ---------------------------------------------------------------------------- */

struct month_item {
    struct loop_item item;
    char name[MONTH_NAME_SIZE];
    json_t *budget;
    bool is_told;
};

static int month_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct month_item *item = (const struct month_item *)base;
    return store_month_save(store, item->name, item->budget, item->is_told, err);
}

static void month_free(void *context)
{
    struct month_item *item = context;
    json_decref(item->budget);
    free(item);
}

static void month_save(struct admission *admission)
{
    const struct month *month = &admission->month;
    struct month_item *item = xcalloc(1, sizeof *item);
    *item = (struct month_item){
        .item = {.write = month_write, .free = month_free},
        .budget = json_incref(month->budget),
        .is_told = month->is_told,
    };
    memcpy(item->name, month->name, sizeof item->name);
    loop_post_item(admission->loop, &item->item, NULL);
}

/* --- What is spent ---------------------------------------------------------------------------- */

/* Makes admission->month the current month. Takes the budget from limits.yaml if the file is right.
 */
static int month_refresh(struct admission *admission, const char *name, struct error *err)
{
    struct month *month = &admission->month;
    json_t *recorded = NULL;
    if (!text_equal(month->name, name)) {
        int status =
            store_month_load(loop_store(admission->loop), name, &recorded, &month->is_told, err);
        if (status < 0)
            return status;
        json_decref(month->budget);
        month->budget = recorded;
        month->due_ms = 0;
        (void)snprintf(month->name, sizeof month->name, "%s", name);
    }
    const json_t *limits = limits_get(admission);
    json_t *budget = json_object_get(limits, "month");
    if (!limits || budget == month->budget || json_equal(budget, month->budget))
        return 0;
    json_decref(month->budget);
    month->budget = json_incref(budget);
    month->is_told = false;
    month->due_ms = 0;
    month_save(admission);
    return 0;
}

struct spending month_spent(struct admission *admission)
{
    struct month *month = &admission->month;
    struct store_spending cost;
    struct error err;
    char name[MONTH_NAME_SIZE];
    int64_t begin_ms = month_begin_ms(name);
    uint64_t now_ms = uv_now(loop_config(admission->loop)->uv);
    /* Another part of the daemon reports that the record cannot be read. */
    if (month_refresh(admission, name, &err) < 0 || !month->budget)
        return (struct spending){0};
    if (now_ms >= month->due_ms) {
        if (store_spending_since(loop_store(admission->loop), begin_ms, &cost, &err) < 0)
            return (struct spending){0};
        month->spent = spending_of(month->budget, &cost);
        month->due_ms = now_ms + MONTH_EVERY_MS;
    }
    return month->spent;
}

void month_check(struct admission *admission)
{
    struct month *month = &admission->month;
    const struct core *core = loop_core(admission->loop);
    struct spending spent = month_spent(admission);
    bool warns = spent.part >= BUDGET_WARN_AT && spent.part < 1 && !month->is_told;
    bool is_told = month->is_told && spent.part >= BUDGET_WARN_AT;
    for (size_t i = 0; i < core_workflow_count(core); i++) {
        struct workflow *workflow = core_workflow_at(core, i);
        if (spent.part >= 1 ? !spending_hold(admission->loop, workflow, BUDGET_MONTH, &spent)
                            : !warns || workflow_is_final(workflow))
            continue;
        spending_warn(admission->loop, workflow->id, BUDGET_MONTH, &spent);
        is_told = true;
    }
    if (month->is_told == is_told)
        return;
    month->is_told = is_told;
    month_save(admission);
}

bool admission_month_is_spent(struct loop *loop, char ret_spent[REASON_MAX])
{
    struct spending spent = month_spent(loop_room(loop, &admission_room));
    if (spent.part >= 1)
        (void)snprintf(ret_spent, REASON_MAX, "%s", spent.text);
    return spent.part >= 1;
}
