/* The functions an expression may call: one table, in function.c. Internal to lib/expr.
 *
 * A function reduces the rows of a series to a number (a number counts as one row), maps each value
 * of a series on its own, or combines: several arguments at each step that all of them have, and
 * the rows of one argument alone. */
#ifndef PHASED_LIB_EXPR_FUNCTION_H
#define PHASED_LIB_EXPR_FUNCTION_H

#include "lib/expr/metrics.h"
#include "lib/expr/value.h"

#include <stdbool.h>
#include <stddef.h>

enum { FUNCTION_ARGUMENTS_MAX = 16 };

struct function {
    const char *name;
    const char *arguments; /* as the manual writes them: "x" */
    const char *help;      /* one line, which stands in the manual word for word */
    /* One of these four. */
    double (*reduce)(struct metrics_series series);
    double (*map)(double value);
    enum operation combine; /* or OPERATION_NONE; takes up to FUNCTION_ARGUMENTS_MAX arguments */
    double percentile;
    size_t rows_min;   /* with fewer rows, data is insufficient */
    size_t extra_work; /* what a row costs, in rows walked, besides being walked once */
    bool is_boolean;   /* the number that `reduce` returns means true or false */
};

extern const struct function functions[];
extern const size_t function_count;

/* The function of that name, or NULL. All of p01 .. p99 are one function, and `ret_percentile` is
 * which of them; it is the function's own for others. */
const struct function *function_find(const char *name, double *ret_percentile);

/* The name nearest to a wrong one, or NULL. */
const char *function_suggest(const char *name);

/* Calls it; `count` is 1 unless it combines. */
int function_call(struct evaluation *evaluation, const struct function *function, double percentile,
                  const struct value *arguments, size_t count, struct value *ret_value);

#endif
