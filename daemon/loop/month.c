/* Watching the month's budget. */
#include "daemon/loop/month.h"

#include "daemon/loop/inside.h"
#include "daemon/store/cost.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void month_fini(struct month *month)
{
    json_decref(month->budget);
}

/* Its first second in local time, and its name. */
static int64_t month_begin_ms(char name[MONTH_NAME_SIZE])
{
    time_t now = time(NULL);
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

static void month_free(struct loop_item *base)
{
    struct month_item *item = (struct month_item *)base;
    json_decref(item->budget);
    free(item);
}

static void month_save(struct loop *loop)
{
    const struct month *month = &loop->month;
    struct month_item *item = xcalloc(1, sizeof *item);
    *item = (struct month_item){
        .item = {.write = month_write, .free = month_free},
        .budget = json_incref(month->budget),
        .is_told = month->is_told,
    };
    memcpy(item->name, month->name, sizeof item->name);
    loop_post_item(loop, &item->item, NULL);
}

/* --- What is spent ---------------------------------------------------------------------------- */

/* Makes it that of the current month, by the file where that is right. */
static int month_refresh(struct loop *loop, const char *name, struct error *err)
{
    struct month *month = &loop->month;
    json_t *recorded = NULL;
    if (!text_equal(month->name, name)) {
        int status = store_month_load(loop->config.store, name, &recorded, &month->is_told, err);
        if (status < 0)
            return status;
        json_decref(month->budget);
        month->budget = recorded;
        month->looked_ms = 0;
        (void)snprintf(month->name, sizeof month->name, "%s", name);
    }
    const json_t *limits = queue_limits(loop);
    json_t *budget = json_object_get(limits, "month");
    if (!limits || budget == month->budget || json_equal(budget, month->budget))
        return 0;
    json_decref(month->budget);
    month->budget = json_incref(budget);
    month->looked_ms = 0;
    month_save(loop);
    return 0;
}

double month_part(struct loop *loop, char text[BUDGET_TEXT_SIZE])
{
    struct month *month = &loop->month;
    struct store_spending spent;
    struct error err;
    char name[MONTH_NAME_SIZE];
    int64_t now_ms = loop_now_ms(), begin_ms = month_begin_ms(name);
    if (month_refresh(loop, name, &err) < 0 || !month->budget)
        return 0; /* a record that cannot be read is told of elsewhere */
    if (now_ms >= month->looked_ms + MONTH_EVERY_MS) {
        if (store_spending_since(loop->config.store, begin_ms, &spent, &err) < 0)
            return 0;
        month->part = budget_part(month->budget, &spent, month->text);
        month->looked_ms = now_ms;
    }
    (void)snprintf(text, BUDGET_TEXT_SIZE, "%s", month->text);
    return month->part;
}

void month_judge(struct loop *loop)
{
    struct month *month = &loop->month;
    char text[BUDGET_TEXT_SIZE];
    double part = month_part(loop, text);
    bool warns = part >= BUDGET_WARN_AT && part < 1 && !month->is_told;
    for (size_t i = 0; i < core_workflow_count(loop->core); i++) {
        struct workflow *workflow = core_workflow_at(loop->core, i);
        if (part >= 1 ? budget_hold(loop, workflow, BUDGET_OF_MONTH, text)
                      : warns && !workflow_is_final(workflow))
            budget_warn(loop, workflow->id, BUDGET_OF_MONTH, part, text);
    }
    if (month->is_told == (part >= BUDGET_WARN_AT))
        return;
    month->is_told = !month->is_told;
    month_save(loop);
}
