/* What a phase or a workflow would take, against what it may and what is expected of it. Pure. */
#ifndef PHASED_DAEMON_LOOP_ESTIMATE_H
#define PHASED_DAEMON_LOOP_ESTIMATE_H

#include "lib/amount.h"

#include <jansson.h>
#include <stdbool.h>

struct estimate {
    double amounts[AMOUNT_COUNT]; /* NaN: not known */
    bool is_measured;             /* by similar runs; else at most, as `time` has it */
};

/* Adds what is above the budget to the list of dangers. */
void estimate_judge_budget(const struct estimate *estimate, const json_t *budget, json_t *dangers);

/* Adds what is known to be otherwise than expected: similar runs took more, or `time` is less. */
void estimate_judge_expected(const struct estimate *estimate, const json_t *expect,
                             json_t *dangers);

#endif
