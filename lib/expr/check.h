/* One check of a gate or a guard, and the verdict on it.
 *
 * A check is a condition, or a value with bounds; both are expressions. `over` keeps a window at
 * the end, and `skip` leaves out the beginning:
 *
 *   over N steps     keeps the steps of each series above its newest step - N
 *   over N seconds   keeps the rows of each series that are later than its newest row - N s
 *   skip N steps     leaves out the steps up to N, counted from begin_step in a resumed run
 *   skip N seconds   leaves out the rows of the first N s
 *
 * A gate judges the rows that exist. A guard judges full windows only: each series must reach back
 * over the whole window. Otherwise a run that has just begun would be judged by a few rows. A check
 * is *insufficient* if a metric never came, or if no row lies in the window. expr.h says what NaN
 * does. A check never passes if its value or a comparison has a NaN. */
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
    char *condition; /* NULL: the check has a value */
    char *value;
    bool has_bound[CHECK_BOUNDS];
    double bound[CHECK_BOUNDS];
    struct expr_window window;
    bool warn;    /* `else: warn`: a failure is shown, and nothing else happens */
    char *advice; /* or NULL */
};

enum check_outcome { CHECK_PASSED, CHECK_FAILED, CHECK_INSUFFICIENT, CHECK_ERROR };

struct verdict {
    char *name;
    enum check_outcome outcome;
    bool warn;
    bool has_value; /* false for a condition, and if there is no number to show */
    double value;   /* may be NaN or infinite */
    char *bounds;   /* "at least 15", "above 0 and at most 20"; for a condition, its text */
    bool has_window;
    int64_t first_step, last_step; /* the rows that were read, see struct expr_result */
    size_t rows;
    uint64_t work; /* what the judgement cost, see struct expr_result; not in the JSON */
    char *reason;  /* one line for people: why the outcome is what it is */
    char *advice;  /* or NULL */
};

/* Reads one check of the resolved workflow: {"condition": ...} or {"value": ..., "at_least": ...},
 * with "over" and "skip" as {"steps": N} or {"seconds": N}, "else": "fail" | "warn", "advice".
 * -EINVAL: lib/spec has written no such check. The caller calls check_fini(). */
int check_from_json(const char *name, const json_t *json, struct check *ret_check,
                    struct error *err);
void check_fini(struct check *check);

/* Tries the check before there is any data. The params come from the scope, and every unknown name
 * is a metric with made-up rows. -EINVAL if the check could only be CHECK_ERROR: a condition that
 * is a number, a value that is text, a phase that does not come before. */
int check_try(const struct check *check, const struct expr_scope *scope, struct error *err);

/* Judges the check. The check gives the window, and the kind of the check gives `full_windows`. The
 * values in the scope are ignored. Never fails: if an expression cannot be evaluated, the verdict
 * is CHECK_ERROR. The caller calls verdict_fini(). */
void check_evaluate(const struct check *check, enum check_kind kind, const struct expr_scope *scope,
                    struct verdict *ret_verdict);
void verdict_fini(struct verdict *verdict);

/* Whether the verdict forbids a promotion or stops a run: it has not passed, and it is not `else:
 * warn`. */
bool verdict_is_failure(const struct verdict *verdict);

/* "passed", "failed", "insufficient" or "error"; -1: another name, or NULL. */
const char *check_outcome_name(enum check_outcome outcome);
int check_outcome_parse(const char *name);

/* {"name", "outcome", "warn", "value": number | "nan" | "inf" | "-inf" | null, "bounds",
 *  "window": {"first_step", "last_step", "rows"} | null, "reason", "advice": text | null} */
json_t *verdict_to_json(const struct verdict *verdict);
int verdict_from_json(const json_t *json, struct verdict *ret_verdict, struct error *err);

#endif
