/* The values of an evaluation, the arithmetic on them, and what the evaluation has used. Internal
 * to lib/expr.
 *
 * A value borrows texts and the rows of metrics from the scope, which lives longer than the
 * evaluation. A series that was computed owns its rows, and value_release() frees them. Functions
 * that can fail return -EINVAL for a wrong type, -ENODATA for insufficient data and -E2BIG beyond a
 * limit. */
#ifndef PHASED_LIB_EXPR_VALUE_H
#define PHASED_LIB_EXPR_VALUE_H

#include "lib/expr/expr.h"
#include "lib/expr/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct evaluation {
    const struct expr_scope *scope;
    struct expr_result result; /* the rows and comparisons so far */
    struct error *err;
    size_t memory; /* bytes of the rows that values own */
    uint64_t work; /* rows that were read */
};

enum value_type { VALUE_NUMBER, VALUE_BOOLEAN, VALUE_TEXT, VALUE_SERIES };

struct value {
    enum value_type type;
    bool boolean;
    double number;
    struct {
        const char *data; /* not terminated */
        size_t size;
    } text;
    struct metrics_series series;   /* has at least one row */
    struct metrics_row *owned_rows; /* the rows of `series` if the value owns them, or NULL */
};

enum operation {
    OPERATION_NONE,
    OPERATION_ADD,
    OPERATION_SUBTRACT,
    OPERATION_MULTIPLY,
    OPERATION_DIVIDE,
    OPERATION_FLOOR_DIVIDE,
    OPERATION_MODULO,
    OPERATION_POWER,
    OPERATION_LESSER,
    OPERATION_GREATER,
};

/* Returns NaN if either is NaN. */
double operation_compute(double a, double b, enum operation operation);

enum comparison {
    COMPARISON_EQUAL,
    COMPARISON_UNEQUAL,
    COMPARISON_LESS,
    COMPARISON_LESS_EQUAL,
    COMPARISON_GREATER,
    COMPARISON_GREATER_EQUAL,
};

/* With NaN, only COMPARISON_UNEQUAL holds. */
bool comparison_holds(enum comparison comparison, double a, double b);

/* Counts `rows` rows as read. -E2BIG if these are too many. */
int evaluation_charge(struct evaluation *evaluation, size_t rows);

struct value value_of_number(double number);
struct value value_of_boolean(bool boolean);
void value_release(struct evaluation *evaluation, struct value *value);

/* Returns "a number", "text" or "true or false". */
const char *value_type_name(const struct value *value);

/* Returns the rows of the series. For a number, fills `one` and returns it. -EINVAL for another
 * type. */
int value_rows(struct evaluation *evaluation, const struct value *value, struct metrics_row *one,
               struct metrics_series *ret_rows);

/* Computes `a operation b` over the steps that both have; a number if both are numbers. -ENODATA if
 * they share no step. */
int value_combine(struct evaluation *evaluation, const struct value *a, const struct value *b,
                  enum operation operation, struct value *ret_value);

/* Computes f of the number, or of each value of the series. */
int value_map(struct evaluation *evaluation, const struct value *value, double (*f)(double),
              struct value *ret_value);

#endif
