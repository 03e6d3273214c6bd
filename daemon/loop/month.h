/* What all workflows together may spend in a month, of local time: the `month` of limits.yaml.
 *
 * The record keeps it as it was when the file was last right, so that a mistake in the file lifts
 * no limit, not even over a restart; and that most of it being spent was said. */
#ifndef PHASED_DAEMON_LOOP_MONTH_H
#define PHASED_DAEMON_LOOP_MONTH_H

#include "daemon/loop/budget.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct loop;

enum { MONTH_EVERY_MS = 30000, MONTH_NAME_SIZE = 16 };

struct month {
    char name[MONTH_NAME_SIZE]; /* 2026-11; empty: not read from the record yet */
    json_t *budget;             /* NULL: there is none */
    bool is_told;
    double part; /* of it that is spent, as `text` says */
    char text[BUDGET_TEXT_SIZE];
    int64_t looked_ms;
};

void month_fini(struct month *month);

/* The part that is spent, and of what; 0: there is no budget. At most half a minute old, since all
 * runs of the month are summed up. */
double month_part(struct loop *loop, char text[BUDGET_TEXT_SIZE]);

/* Warns, or holds what is at work. */
void month_judge(struct loop *loop);

#endif
