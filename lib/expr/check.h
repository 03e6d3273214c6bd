/* One check of a gate or a guard, and the verdict on it.
 *
 * A check is a condition, or a value with bounds; both are expressions. `over` is the window at the
 * end, `skip` leaves out the beginning:
 *
 *   over N steps     of each series the steps above its newest - N
 *   over N seconds   of each series the rows later than its newest - N s
 *   skip N steps     without the steps up to N, counted from where a resumed run began (begin_step)
 *   skip N seconds   without the rows of the first N s
 *
 * A gate judges the rows that are there. A guard judges full windows only, because a run has just
 * begun: the series must reach back over the whole window. Either is *insufficient* when a metric
 * never came or no row lies in the window. What NaN does is said in expr.h; a check in whose value
 * or comparisons a NaN stands never passes. */
#ifndef PHASED_LIB_EXPR_CHECK_H
#define PHASED_LIB_EXPR_CHECK_H

#include "lib/expr/expr.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum check_kind { CHECK_GATE, CHECK_GUARD };

enum check_bound { CHECK_AT_LEAST, CHECK_AT_MOST, CHECK_ABOVE, CHECK_BELOW, CHECK_BOUNDS };

struct check {
    char *name;
    char *condition; /* or NULL, and then value is set */
    char *value;
    bool has_bound[CHECK_BOUNDS];
    double bound[CHECK_BOUNDS];
    struct expr_window window;
    bool warn;    /* `else: warn`: a failure is told, not acted upon */
    char *advice; /* or NULL */
};

enum check_outcome { CHECK_PASSED, CHECK_FAILED, CHECK_INSUFFICIENT, CHECK_ERROR };

struct verdict {
    char *name;
    enum check_outcome outcome;
    bool warn;
    bool has_value; /* false for conditions, and where there is no number to tell */
    double value;   /* may be NaN or infinite */
    char *bounds;   /* "at least 15", "above 0 and at most 20"; a condition's own text */
    bool has_window;
    int64_t first_step, last_step; /* what was read, see struct expr_result */
    size_t rows;
    char *reason; /* for people, one line: why it is so */
    char *advice; /* or NULL */
};

/* Reads one check of the resolved workflow: {"condition": ...} or {"value": ..., "at_least": ...},
 * with "over" and "skip" as {"steps": N} or {"seconds": N}, "else": "fail" | "warn", "advice".
 * -EINVAL names the key that is wrong; the syntax of expressions is checked too. `ret_check` is the
 * caller's to check_fini(). */
int check_from_json(const char *name, const json_t *json, struct check *ret_check,
                    struct error *err);
void check_fini(struct check *check);

/* Tries the check before there is any data: params are the scope's, every unknown name is taken
 * for a metric with made-up rows. -EINVAL when it could only be CHECK_ERROR: a condition that is a
 * number, a value that is text, a phase that does not come before. */
int check_try(const struct check *check, const struct expr_scope *scope, struct error *err);

/* Judges. The scope's window and full_windows are the check's and the kind's; what stands there is
 * not read. Never fails: an expression that cannot be evaluated is the verdict CHECK_ERROR.
 * `ret_verdict` is the caller's to verdict_fini(). */
void check_evaluate(const struct check *check, enum check_kind kind, const struct expr_scope *scope,
                    struct verdict *ret_verdict);
void verdict_fini(struct verdict *verdict);

/* Whether the verdict stands in the way: not passed, and not `else: warn`. */
bool verdict_is_failure(const struct verdict *verdict);

/* "passed", "failed", "insufficient", "error". */
const char *check_outcome_name(enum check_outcome outcome);

/* {"name", "outcome", "warn", "value": number | "nan" | "inf" | "-inf" | null, "bounds",
 *  "window": {"first_step", "last_step", "rows"} | null, "reason", "advice": text | null} */
json_t *verdict_to_json(const struct verdict *verdict);
int verdict_from_json(const json_t *json, struct verdict *ret_verdict, struct error *err);

#endif
