/* Inside daemon/admission. Calls go down: queue.c, budget.c, month.c, then round.c, spending.c and
 * limits.c. */
#ifndef PHASED_DAEMON_ADMISSION_PRIVATE_H
#define PHASED_DAEMON_ADMISSION_PRIVATE_H

#include "daemon/admission/round.h"
#include "daemon/core/model.h"
#include "lib/amount.h"
#include "lib/map.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct loop;
struct store_spending;

enum { BUDGET_EVERY_MS = 2000, BUDGET_TEXT_SIZE = AMOUNT_SHARE_SIZE, MONTH_NAME_SIZE = 16 };

#define BUDGET_WARN_AT 0.8

/* limits.yaml. The file is read again when it changes. */
struct limits {
    json_t *file;             /* NULL: not read yet, or wrong */
    char problem[REASON_MAX]; /* what is wrong with it */
    bool is_read;             /* false: the next look reads it, even if it has not changed */
    struct stat seen;
    int64_t empty_ms; /* since when the file is empty while the old limits hold; 0: they do not */
};

/* The largest part of a budget that is spent; 1 is the whole budget. A cost whose price is not
 * known counts as nothing. */
struct spending {
    double part;
    enum amount amount;
    char text[BUDGET_TEXT_SIZE]; /* "$7.02 of $7" */
};

struct month {
    char name[MONTH_NAME_SIZE]; /* 2026-11; empty: not read from the record yet */
    json_t *budget;             /* NULL: there is no budget */
    bool is_told;
    struct spending spent;
    uint64_t due_ms; /* in libuv's time: when the cost of the month is summed up again */
};

struct queue {
    uint64_t looked_ms; /* in libuv's time: when limits.yaml was last looked at */
    bool has_file;      /* limits.yaml can be read */
    struct round_limits bounds;
    /* The newest round: */
    bool is_stale;
    struct queue_line *lines;   /* one for each workflow */
    struct queue_place *places; /* one for each job that waited */
    size_t place_count;
    struct map by_job; /* the places, by the job's id */
};

struct admission {
    struct loop *loop;
    struct limits limits;
    struct month month;
    struct queue queue;
    uint64_t due_ns;           /* in uv_hrtime(): when the budgets are looked at again */
    struct budget_lift *lifts; /* holds to be taken back */
    size_t lift_count;
};

/* --- limits.c --------------------------------------------------------------------------------- */

/* The limits as they are now. An empty object: there are no limits. NULL: the file is wrong, and
 * nothing is submitted. */
const json_t *limits_get(struct admission *admission);

/* --- spending.c ------------------------------------------------------------------------------- */

struct spending spending_of(const json_t *budget, const struct store_spending *cost);
/* Says in the workflow's history how much is spent. */
void spending_warn(struct loop *loop, uint64_t workflow, enum budget budget,
                   const struct spending *spent);
/* Holds the phases that run or will soon run. Other phases wait for the budget anyway. False: there
 * is no such phase, or all of them are being held already. */
bool spending_hold(struct loop *loop, struct workflow *workflow, enum budget budget,
                   const struct spending *spent);

/* --- month.c ---------------------------------------------------------------------------------- */

/* What is spent of the month's budget; a part of 0: there is no budget. The answer may be half a
 * minute old, because all runs of the month have to be summed up. */
struct spending month_spent(struct admission *admission);
/* Warns people, or holds the phases that run. */
void month_check(struct admission *admission);

/* --- budget.c --------------------------------------------------------------------------------- */

/* Looks at all budgets. The room calls this. */
void budget_look(void *state);

/* --- queue.c ---------------------------------------------------------------------------------- */

/* Whether `minute` of the day is within the window. A window that ends before it begins goes over
 * midnight. */
bool queue_is_open(unsigned window_from, unsigned window_to, unsigned minute);

#endif
