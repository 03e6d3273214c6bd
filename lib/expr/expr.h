/* Expressions of gates, guards and derived params, written as in Lua.
 *
 * What there is: numbers, strings, true, false, names, calls of functions, + - * / // % ^,
 * == ~= < <= > >=, and, or, not, parentheses. Operators bind as in Lua. There are no statements,
 * functions of one's own, tables, methods, concatenation, comments. Size, nesting, memory and the
 * rows walked are bounded, so an expression of unknown origin may be evaluated in the daemon.
 *
 * A name is a param, else a fact (`elapsed`, `step`), else a metric of the own phase;
 * `validate.loss` and `validate.depth` are those of a phase before. A metric is a series over
 * steps. Arithmetic on series goes step by step over the steps that both have; where a number is
 * needed, also in comparisons, a series means its newest value. A name before a parenthesis is
 * always a function, so a metric may be named `count` too. Names that begin with two underscores
 * are reserved. The functions stand in a table in function.c, and in phased-spec(5).
 *
 * A number stands for a series of one row. All arithmetic is floating point; whole results are
 * whole again as params (16 / 2 is 8). A name that is nothing of the above, and a series without
 * rows in the window, make an expression *insufficient* (-ENODATA).
 *
 * NaN: what is computed from rows of which one is NaN is NaN, and count counts it. A comparison
 * with NaN is false (but ~= is true), and the result tells that there was one (`nan_compared`), so
 * that `not (loss > 5)` cannot pass by a NaN. */
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

/* A stretch of a series; all zero: the whole of it. */
struct expr_window {
    /* Keep the rows of the last so many steps or seconds, counted back from each series' newest
     * row: over 50 steps keeps the steps above newest - 50. At most one of the two is set. */
    int64_t over_steps;
    double over_s;
    /* Leave out the rows up to this step and this time. */
    int64_t skip_steps;
    double skip_s;
};

/* What one phase's names mean. All pointers are borrowed and may be NULL. */
struct expr_names {
    const char *phase;       /* NULL for the own phase */
    const json_t *params;    /* object of numbers, strings and booleans */
    const json_t *facts;     /* object of numbers known without a log: elapsed, step, ... */
    struct metrics *metrics; /* telemetry too: gpu_util, gpu_mem_gb, ... */
};

struct expr_scope {
    struct expr_names own;
    const struct expr_names *before; /* the phases before */
    size_t before_count;
    struct expr_window window; /* holds for every series */
    int64_t begin_step;        /* skip_steps counts from here in the own phase's series: the step
                                  that a resumed run began at, or 0 */
    bool full_windows;         /* a series that does not yet fill its window is insufficient */
    bool invent_metrics;       /* a name that is nothing else is a metric with made-up rows: finds
                                  wrong types before there is any data */
};

enum expr_type { EXPR_NUMBER, EXPR_BOOLEAN, EXPR_STRING };

struct expr_result {
    enum expr_type type;
    double number;
    bool boolean;
    char *string; /* set for EXPR_STRING only */
    bool nan_compared;
    /* The comparisons of numbers, in the order in which they were made: "5.06 > 4.6, 2 > 3
     * (false)".
     */
    struct text comparisons;
    /* What was read of the metrics: the first and last step of all series used, and the rows of
     * the one with fewest. No rows: no metric was used. */
    int64_t first_step, last_step;
    size_t rows;
};

/* A name that an expression uses and that is no function. */
struct expr_name {
    char phase[EXPR_NAME_MAX + 1]; /* empty: of the own phase */
    char name[EXPR_NAME_MAX + 1];
    unsigned column; /* in bytes, from 1 */
};

/* Whether `text` (without the `=` of a derived param) is an expression. -EINVAL when it is not;
 * `err` then carries line 1 and the column in bytes from 1. */
int expr_check_syntax(const char *text, struct error *err);

/* The names that `text` uses, each once, in order; the array is the caller's to free(). Returns
 * their number, or fails as expr_check_syntax() does. */
int expr_list_names(const char *text, struct expr_name **ret_names, struct error *err);

/* Evaluates `text`. Fails with -ENODATA when data is insufficient, -EINVAL when the expression is
 * wrong, -E2BIG when it needs too much time or memory. On success `ret_result` is the caller's to
 * expr_result_fini(); a series as the result is its newest value. */
int expr_evaluate(const char *text, const struct expr_scope *scope, struct expr_result *ret_result,
                  struct error *err);
void expr_result_fini(struct expr_result *result);

/* A number as people read it: 15, 5.06, NaN, inf, -inf. */
struct expr_number {
    char data[32];
};
struct expr_number expr_number_text(double number);

/* Evaluates a derived param on the params and returns its value as JSON, the caller's: a string,
 * a boolean, an integer where the result is whole, else a real. -ENODATA names the param that is
 * missing; -EINVAL also where the result is NaN or infinite. */
int expr_compute(const char *text, const struct expr_scope *scope, json_t **ret_value,
                 struct error *err);

#endif
