/* Expressions of gates, guards and derived params, written as in Lua.
 *
 * An expression consists of numbers, strings, true, false, names, calls of functions, parentheses
 * and the operators + - * / // % ^, == ~= < <= > >=, and, or, not. Operators bind as in Lua. `not`
 * and the left side of `and` and `or` need true or false. The left side of `or` may be an `and`,
 * which may give a number: `a and 32 or 64`. There are no statements, definitions of functions,
 * tables, methods, concatenation or comments. Size, nesting, memory and the number of rows that are
 * read are bounded. So the daemon can evaluate an expression of unknown origin.
 *
 * A name is a param, else a fact (`elapsed`, `step`), else a metric of the phase itself.
 * `validate.loss` and `validate.depth` are a metric and a param of an earlier phase. A metric is a
 * series over steps. Arithmetic on two series goes step by step, over the steps that both have.
 * Where a number is needed, also in a comparison, a series means its newest value. A name before a
 * parenthesis is always a function, so a metric can be named `count` too. Names that begin with two
 * underscores are reserved. The functions are in the table of function.c, and in phased-spec(5).
 *
 * A number can stand for a series of one row. All arithmetic is floating point; a whole result
 * becomes a whole param (16 / 2 is 8). An expression is *insufficient* (-ENODATA) if a name has no
 * meaning, or if a series has no rows in the window.
 *
 * NaN: a value that is computed from a NaN is NaN; only count() counts a NaN like any value. A
 * comparison with NaN is false (but ~= is true), and `nan_compared` of the result says that there
 * was such a comparison. So a check with `not (loss > 5)` cannot pass by a NaN. */
#ifndef PHASED_LIB_EXPR_EXPR_H
#define PHASED_LIB_EXPR_EXPR_H

#include "lib/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct metrics;

enum {
    EXPR_SIZE_MAX = 8192, /* bytes of an expression */
    EXPR_NAME_MAX = 128,  /* bytes of a name */
};

/* A part of a series; all members zero: the whole series. */
struct expr_window {
    /* Keep the rows of this many last steps or seconds, counted back from the newest row of each
     * series: over 50 steps keeps the steps above newest - 50. At most one of the two is set. */
    int64_t over_steps;
    double over_s;
    /* Leave out the rows up to this step and this time. */
    int64_t skip_steps;
    double skip_s;
};

/* What the names of one phase mean. All pointers are borrowed and may be NULL. */
struct expr_names {
    const char *phase;       /* NULL: the phase itself */
    const json_t *params;    /* object of numbers, strings and booleans */
    const json_t *facts;     /* object of numbers that need no log: elapsed, step, ... */
    struct metrics *metrics; /* with telemetry: gpu_util, gpu_mem_gb, ... */
};

struct expr_scope {
    struct expr_names own;
    const struct expr_names *before; /* the earlier phases */
    size_t before_count;
    struct expr_window window; /* for every series */
    /* The step at which a resumed run began, or 0. In series of the phase itself, skip_steps counts
     * from here. */
    int64_t begin_step;
    bool full_windows; /* a series that does not yet fill its window is insufficient */
    /* Takes every unknown name for a metric with made-up rows. This finds wrong types before there
     * is any data. */
    bool invent_metrics;
};

enum expr_type { EXPR_NUMBER, EXPR_BOOLEAN, EXPR_STRING };

struct expr_result {
    enum expr_type type;
    double number;
    bool boolean;
    char *string; /* set for EXPR_STRING only */
    bool nan_compared;
    /* The comparisons of numbers, in the order of their evaluation: "5.06 > 4.6, 2 > 3 (false)". */
    struct text comparisons;
    /* The rows that were read: the first and last step of all series, and the number of rows of the
     * shortest series. Series of earlier phases count only if the expression uses no series of its
     * own phase. No rows: the expression used no metric. */
    bool has_own_rows;
    int64_t first_step, last_step;
    size_t rows;
    /* How many rows were to be read; a row that is read twice counts twice. Also set on a
     * failure. */
    uint64_t work;
};

/* A name in an expression that is not a function. */
struct expr_name {
    char phase[EXPR_NAME_MAX + 1]; /* empty: the phase itself */
    char name[EXPR_NAME_MAX + 1];
    unsigned column; /* in bytes, from 1 */
};

/* Lists the names in `text` (without the `=` of a derived param), each once, in their order; the
 * caller frees the array. Returns how many there are. If the text is wrong, returns -EINVAL, and
 * `err` has line 1 and the column in bytes, from 1. */
int expr_list_names(const char *text, struct expr_name **ret_names, struct error *err);

/* Evaluates `text`. Fails with -ENODATA if data is insufficient, -EINVAL if the expression is
 * wrong, -E2BIG if it needs too much time or memory. If the result is a series, its newest value is
 * returned. On success, the caller calls expr_result_fini(). */
int expr_evaluate(const char *text, const struct expr_scope *scope, struct expr_result *ret_result,
                  struct error *err);
void expr_result_fini(struct expr_result *result);

/* A number as people read it: 15, 5.06, NaN, inf, -inf. */
struct expr_number {
    char data[32];
};
struct expr_number expr_number_text(double number);

/* Evaluates a derived param from other params. Returns its value as JSON, a new reference: a
 * string, a boolean, an integer if the result is whole, else a real. The message of -ENODATA names
 * the missing param. -EINVAL also if the result is NaN or infinite. */
int expr_compute(const char *text, const struct expr_scope *scope, json_t **ret_value,
                 struct error *err);

#endif
