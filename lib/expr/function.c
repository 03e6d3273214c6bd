/* The functions of expressions, and the statistics behind them. A new function needs a row in the
 * table, the code that computes it, an entry in phased-spec(5), and examples in
 * tests/unit/test_expr.c. */
#include "lib/expr/function.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
    SPIKE_ROWS = 50,     /* how many rows before it a value is compared with */
    SPIKE_ROWS_MIN = 10, /* fewer rows do not show what is usual */
};

static double rows_first(struct metrics_series series)
{
    return series.rows[0].value;
}

static double rows_last(struct metrics_series series)
{
    return series.rows[series.count - 1].value;
}

static double rows_fold(struct metrics_series series, enum operation operation)
{
    double folded = series.rows[0].value;
    for (size_t i = 1; i < series.count; i++)
        folded = operation_compute(folded, series.rows[i].value, operation);
    return folded;
}

static double rows_sum(struct metrics_series series)
{
    double sum = 0;
    for (size_t i = 0; i < series.count; i++)
        sum += series.rows[i].value;
    return sum;
}

static double rows_mean(struct metrics_series series)
{
    return rows_sum(series) / (double)series.count;
}

static double rows_count(struct metrics_series series)
{
    return (double)series.count;
}

/* Takes two passes, because the difference of large squares would lose the small deviations. */
static double rows_deviation(struct metrics_series series)
{
    double mean = rows_mean(series), squares = 0;
    for (size_t i = 0; i < series.count; i++)
        squares += (series.rows[i].value - mean) * (series.rows[i].value - mean);
    return sqrt(squares / (double)series.count);
}

/* Least squares. Subtracts the mean of the steps first, so that large steps lose no digits. */
static double rows_slope(struct metrics_series series)
{
    double mean = rows_mean(series), step_mean = 0, products = 0, squares = 0;
    for (size_t i = 0; i < series.count; i++)
        step_mean += (double)series.rows[i].step / (double)series.count;
    for (size_t i = 0; i < series.count; i++) {
        double step = (double)series.rows[i].step - step_mean;
        products += step * (series.rows[i].value - mean);
        squares += step * step;
    }
    return products / squares;
}

/* Compares a row with the rows before it, and not with all rows. A loss that falls from 10 to 3 has
 * a wide spread over the whole run, which would hide a spike near the end. A lasting change of
 * level counts as spikes for some rows, and then it is usual. */
static bool row_is_spike(const struct metrics_row *rows, size_t i)
{
    size_t count = i < SPIKE_ROWS ? i : SPIKE_ROWS;
    struct metrics_series before = {.rows = rows + i - count, .count = count};
    if (count < SPIKE_ROWS_MIN)
        return false;
    double mean = rows_mean(before), distance = fabs(rows[i].value - mean);
    /* The second condition: a series that is constant except for rounding has no spikes. */
    return distance > 3 * rows_deviation(before) && distance > 1e-9 * fabs(mean);
}

static double rows_spikes(struct metrics_series series)
{
    double spikes = 0;
    for (size_t i = 0; i < series.count; i++) {
        if (!isfinite(series.rows[i].value))
            return NAN; /* with such a value nothing is usual */
        spikes += row_is_spike(series.rows, i);
    }
    return spikes;
}

static double rows_nan(struct metrics_series series)
{
    double count = 0;
    for (size_t i = 0; i < series.count; i++)
        count += isnan(series.rows[i].value);
    return count;
}

static double rows_finite(struct metrics_series series)
{
    for (size_t i = 0; i < series.count; i++)
        if (!isfinite(series.rows[i].value))
            return false;
    return true;
}

static int value_compare(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static double rows_percentile(struct metrics_series series, double percentile)
{
    double *values = xcalloc(series.count, sizeof *values), value = NAN;
    if (rows_nan(series) > 0)
        goto out;
    for (size_t i = 0; i < series.count; i++)
        values[i] = series.rows[i].value;
    qsort(values, series.count, sizeof *values, value_compare);
    double rank = percentile / 100 * (double)(series.count - 1);
    size_t below = (size_t)rank;
    double share = rank - (double)below;
    value = values[below];
    if (share > 0)
        value = values[below] * (1 - share) + values[below + 1] * share;
out:
    free(values);
    return value;
}

const struct function functions[] = {
    {"first", "x", "The oldest value in the window.", .reduce = rows_first},
    {"last", "x", "The newest value.", .reduce = rows_last},
    {"min", "x, ...", "The least value; of several arguments, the least at each step.",
     .combine = OPERATION_LESSER},
    {"max", "x, ...", "The greatest value; of several arguments, the greatest at each step.",
     .combine = OPERATION_GREATER},
    {"mean", "x", "The arithmetic mean.", .reduce = rows_mean},
    {"median", "x", "The same as p50.", .percentile = 50, .extra_work = 10},
    {"sum", "x", "The sum of all values.", .reduce = rows_sum},
    {"count", "x", "The number of values, NaN included.", .reduce = rows_count},
    {"stddev", "x", "The standard deviation of the values themselves, as numpy's std().",
     .reduce = rows_deviation},
    {"slope", "x", "The change per step of the straight line that fits best (least squares).",
     .reduce = rows_slope, .rows_min = 2},
    {"spikes", "x",
     "How many values are over 3 standard deviations off the mean of the 10 to 50 values before.",
     .reduce = rows_spikes, .extra_work = 10},
    {"nan", "x", "How many values are NaN.", .reduce = rows_nan},
    {"finite", "x", "True if no value is NaN or infinite.", .reduce = rows_finite,
     .is_boolean = true},
    {"abs", "x", "The absolute value at each step.", .map = fabs},
    {"sqrt", "x", "The square root at each step.", .map = sqrt},
    {"log", "x", "The natural logarithm at each step.", .map = log},
    {"exp", "x", "The exponential function at each step.", .map = exp},
    /* The last row is all of p01 to p99. */
    {"p95", "x",
     "A percentile, from p01 to p99; linear between two values, as numpy's percentile().",
     .percentile = 95, .extra_work = 10},
};
const size_t function_count = sizeof functions / sizeof *functions;

const struct function *function_find(const char *name, double *ret_percentile)
{
    size_t i = 0, percentiles = function_count - 1;
    while (i < percentiles && !text_equal(functions[i].name, name))
        i++;
    *ret_percentile = functions[i].percentile;
    if (i < percentiles)
        return &functions[i];
    if (name[0] != 'p' || !isdigit((unsigned char)name[1]) || !isdigit((unsigned char)name[2]) ||
        name[3] || text_equal(name, "p00"))
        return NULL;
    *ret_percentile = 10 * (name[1] - '0') + name[2] - '0';
    return &functions[percentiles];
}

/* What other languages and libraries call the functions. */
static const struct {
    const char *name, *ours;
} function_synonyms[] = {
    {"avg", "mean"},
    {"average", "mean"},
    {"std", "stddev"},
    {"stdev", "stddev"},
    {"sd", "stddev"},
    {"sigma", "stddev"},
    {"trend", "slope"},
    {"gradient", "slope"},
    {"minimum", "min"},
    {"maximum", "max"},
    {"latest", "last"},
    {"newest", "last"},
    {"final", "last"},
    {"current", "last"},
    {"initial", "first"},
    {"total", "sum"},
    {"len", "count"},
    {"length", "count"},
    {"size", "count"},
    {"isnan", "nan"},
    {"is_nan", "nan"},
    {"isfinite", "finite"},
    {"is_finite", "finite"},
    {"ln", "log"},
    {"fabs", "abs"},
    {"percentile", "p01 .. p99"},
    {"quantile", "p01 .. p99"},
};

const char *function_suggest(const char *name)
{
    const char *names[sizeof functions / sizeof *functions];
    if (name[0] == 'p' && isdigit((unsigned char)name[1]))
        return "p01 .. p99";
    for (size_t i = 0; i < sizeof function_synonyms / sizeof *function_synonyms; i++) {
        if (text_equal(name, function_synonyms[i].name))
            return function_synonyms[i].ours;
    }
    for (size_t i = 0; i < function_count; i++)
        names[i] = functions[i].name;
    return text_nearest(name, names, function_count - 1);
}

size_t function_arguments(const struct function *function)
{
    size_t count = 1;
    for (const char *at = function->arguments; *at; at++)
        count += *at == ',';
    return function->combine == OPERATION_NONE ? count : FUNCTION_ARGUMENTS_MAX;
}

/* Combines the arguments two by two, from the left. */
static int function_combine(struct evaluation *evaluation, enum operation operation,
                            const struct value *arguments, size_t count, struct value *ret_value)
{
    struct value combined;
    int status = value_combine(evaluation, &arguments[0], &arguments[1], operation, ret_value);
    for (size_t i = 2; status == 0 && i < count; i++) {
        status = value_combine(evaluation, ret_value, &arguments[i], operation, &combined);
        value_release(evaluation, ret_value);
        if (status == 0)
            *ret_value = combined;
    }
    return status;
}

int function_call(struct evaluation *evaluation, const struct function *function, double percentile,
                  const struct value *arguments, size_t count, struct value *ret_value)
{
    struct metrics_row one;
    struct metrics_series rows;
    double number;
    if (count > 1)
        return function_combine(evaluation, function->combine, arguments, count, ret_value);
    if (function->map)
        return value_map(evaluation, &arguments[0], function->map, ret_value);
    int status = value_rows(evaluation, &arguments[0], &one, &rows);
    if (status == 0)
        status = evaluation_charge(evaluation, rows.count * (1 + function->extra_work));
    if (status < 0)
        return status;
    if (rows.count < function->rows_min)
        return error_set(evaluation->err, -ENODATA, "%s needs at least %zu rows", function->name,
                         function->rows_min);
    if (function->reduce)
        number = function->reduce(rows);
    else if (function->combine != OPERATION_NONE)
        number = rows_fold(rows, function->combine);
    else
        number = rows_percentile(rows, percentile);
    *ret_value = function->is_boolean ? value_of_boolean(number > 0) : value_of_number(number);
    return 0;
}
