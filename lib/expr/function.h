/* The functions that an expression may call: one table, in function.c. Internal to lib/expr. */
#ifndef PHASED_LIB_EXPR_FUNCTION_H
#define PHASED_LIB_EXPR_FUNCTION_H

#include "lib/expr/metrics.h"
#include "lib/expr/value.h"

#include <stdbool.h>
#include <stddef.h>

enum { FUNCTION_ARGUMENTS_MAX = 16 };

struct function {
    const char *name;
    const char *arguments; /* as in the manual; it says how many there are: "x" or "x, ..." */
    const char *help;      /* one line, which the manual has word for word */
    /* What it computes. Each row of the table has one of these. */
    double (*reduce)(struct metrics_series series); /* from all rows; a number is one row */
    double (*map)(double value);                    /* from each value of a series */
    enum operation combine; /* from the values at each step that all arguments have, or from the
                               rows of a single argument */
    double percentile;
    size_t rows_min;   /* fewer rows are insufficient data */
    size_t extra_work; /* the further cost of a row, such as for sorting, in rows */
    bool is_boolean;   /* `reduce` returns true or false as a number */
};

extern const struct function functions[];
extern const size_t function_count;

/* Returns the function with this name, or NULL. p01 to p99 are one function, and `ret_percentile`
 * is the wanted percentile. For any other function, `ret_percentile` comes from the table. */
const struct function *function_find(const char *name, double *ret_percentile);

/* Returns the known name that is most similar to a wrong name, or NULL. */
const char *function_suggest(const char *name);

/* Returns how many arguments the function takes. A function that combines also takes fewer. */
size_t function_arguments(const struct function *function);

/* Calls the function with as many arguments as it takes. */
int function_call(struct evaluation *evaluation, const struct function *function, double percentile,
                  const struct value *arguments, size_t count, struct value *ret_value);

#endif
