/* The functions of expressions, and the statistics behind them. Each takes a number for a series of
 * one row. */
#include "lib/expr/function.h"

#include "lib/expr/sandbox.h"
#include "lib/expr/series.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPIKE_ROWS = 50,     /* the running mean is over so many rows before */
    SPIKE_ROWS_MIN = 10, /* fewer say nothing about what is usual */
};

/* The argument as rows; `one` holds the row of a number. */
static struct metrics_series function_rows(lua_State *lua, struct metrics_row *one)
{
    const struct metrics_series *series = series_at(lua, 1);
    if (!series) {
        *one = (struct metrics_row){.value = series_number(lua, 1)};
        return (struct metrics_series){.rows = one, .count = 1};
    }
    sandbox_charge(lua, series->count);
    return *series;
}

static int function_first(lua_State *lua)
{
    struct metrics_row one;
    lua_pushnumber(lua, function_rows(lua, &one).rows[0].value);
    return 1;
}

static int function_last(lua_State *lua)
{
    lua_pushnumber(lua, series_number(lua, 1));
    return 1;
}

/* Of one argument the extreme of its rows, of several the extreme at each step. */
static int function_extreme(lua_State *lua, enum series_operation operation)
{
    int count = lua_gettop(lua);
    if (count == 1) {
        struct metrics_row one;
        struct metrics_series series = function_rows(lua, &one);
        double extreme = series.rows[0].value;
        for (size_t i = 1; i < series.count; i++)
            extreme = series_compute(extreme, series.rows[i].value, operation);
        lua_pushnumber(lua, extreme);
        return 1;
    }
    for (int i = 2; i <= count; i++) {
        series_combine(lua, 1, i, operation);
        lua_replace(lua, 1);
    }
    lua_settop(lua, 1);
    return 1;
}

static int function_min(lua_State *lua)
{
    return function_extreme(lua, SERIES_LESSER);
}

static int function_max(lua_State *lua)
{
    return function_extreme(lua, SERIES_GREATER);
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

/* Of all the rows there are, not estimated from a sample, as numpy's default: one row deviates by
 * 0. In two passes, because the difference of large squares would lose the small deviations. */
static double rows_deviation(struct metrics_series series)
{
    double mean = rows_mean(series), squares = 0;
    for (size_t i = 0; i < series.count; i++)
        squares += (series.rows[i].value - mean) * (series.rows[i].value - mean);
    return sqrt(squares / (double)series.count);
}

static int function_mean(lua_State *lua)
{
    struct metrics_row one;
    lua_pushnumber(lua, rows_mean(function_rows(lua, &one)));
    return 1;
}

static int function_sum(lua_State *lua)
{
    struct metrics_row one;
    lua_pushnumber(lua, rows_sum(function_rows(lua, &one)));
    return 1;
}

static int function_count(lua_State *lua)
{
    struct metrics_row one;
    lua_pushnumber(lua, (double)function_rows(lua, &one).count);
    return 1;
}

static int function_stddev(lua_State *lua)
{
    struct metrics_row one;
    lua_pushnumber(lua, rows_deviation(function_rows(lua, &one)));
    return 1;
}

/* Least squares, steps taken from their mean so that large ones lose no digits. */
static int function_slope(lua_State *lua)
{
    struct metrics_row one;
    struct metrics_series series = function_rows(lua, &one);
    if (series.count < 2)
        sandbox_raise(lua, -ENODATA, "slope needs two rows at least");
    double mean = rows_mean(series), step_mean = 0, products = 0, squares = 0;
    for (size_t i = 0; i < series.count; i++)
        step_mean += (double)series.rows[i].step / (double)series.count;
    for (size_t i = 0; i < series.count; i++) {
        double step = (double)series.rows[i].step - step_mean;
        products += step * (series.rows[i].value - mean);
        squares += step * step;
    }
    lua_pushnumber(lua, products / squares);
    return 1;
}

/* Compared with the rows before it, not with all: a loss that falls from 10 to 3 has a wide spread
 * over the whole run, in which no spike near the end would show. A lasting change of level counts
 * for some rows and is then what is usual. */
static bool row_is_spike(const struct metrics_row *rows, size_t i)
{
    size_t count = i < SPIKE_ROWS ? i : SPIKE_ROWS;
    struct metrics_series before = {.rows = rows + i - count, .count = count};
    if (count < SPIKE_ROWS_MIN)
        return false;
    double mean = rows_mean(before), distance = fabs(rows[i].value - mean);
    /* The second condition: what is constant but for rounding has no spikes. */
    return distance > 3 * rows_deviation(before) && distance > 1e-9 * fabs(mean);
}

static int function_spikes(lua_State *lua)
{
    struct metrics_row one;
    struct metrics_series series = function_rows(lua, &one);
    sandbox_charge(lua, series.count * 10);
    double spikes = 0;
    for (size_t i = 0; i < series.count; i++) {
        if (!isfinite(series.rows[i].value)) {
            lua_pushnumber(lua, NAN); /* nothing is usual beside it */
            return 1;
        }
        spikes += row_is_spike(series.rows, i);
    }
    lua_pushnumber(lua, spikes);
    return 1;
}

static int value_compare(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* Linear between the two nearest ranks, as numpy's default. The copy is Lua's, so that an error on
 * the way does not leak it. */
static int function_push_percentile(lua_State *lua, double percentile)
{
    struct metrics_row one;
    struct metrics_series series = function_rows(lua, &one);
    sandbox_charge(lua, series.count * 10);
    double *values = lua_newuserdatauv(lua, series.count * sizeof *values, 0);
    for (size_t i = 0; i < series.count; i++) {
        values[i] = series.rows[i].value;
        if (isnan(values[i])) {
            lua_pushnumber(lua, NAN);
            return 1;
        }
    }
    qsort(values, series.count, sizeof *values, value_compare);
    double rank = percentile / 100 * (double)(series.count - 1);
    size_t below = (size_t)rank;
    double share = rank - (double)below, value = values[below];
    if (share > 0)
        value = values[below] * (1 - share) + values[below + 1] * share;
    lua_pushnumber(lua, value);
    return 1;
}

static int function_percentile(lua_State *lua)
{
    return function_push_percentile(lua, lua_tonumber(lua, lua_upvalueindex(1)));
}

static int function_median(lua_State *lua)
{
    return function_push_percentile(lua, 50);
}

static int function_nan(lua_State *lua)
{
    struct metrics_row one;
    struct metrics_series series = function_rows(lua, &one);
    double count = 0;
    for (size_t i = 0; i < series.count; i++)
        count += isnan(series.rows[i].value);
    lua_pushnumber(lua, count);
    return 1;
}

static int function_finite(lua_State *lua)
{
    struct metrics_row one;
    struct metrics_series series = function_rows(lua, &one);
    bool is_finite = true;
    for (size_t i = 0; i < series.count; i++)
        is_finite = is_finite && isfinite(series.rows[i].value);
    lua_pushboolean(lua, is_finite);
    return 1;
}

static int function_abs(lua_State *lua)
{
    series_map(lua, 1, fabs);
    return 1;
}

static int function_sqrt(lua_State *lua)
{
    series_map(lua, 1, sqrt);
    return 1;
}

static int function_log(lua_State *lua)
{
    series_map(lua, 1, log);
    return 1;
}

static int function_exp(lua_State *lua)
{
    series_map(lua, 1, exp);
    return 1;
}

static const struct function functions[] = {
    {"first", 1, 1, function_first},
    {"last", 1, 1, function_last},
    {"min", 1, FUNCTION_ARGUMENTS_MAX, function_min},
    {"max", 1, FUNCTION_ARGUMENTS_MAX, function_max},
    {"mean", 1, 1, function_mean},
    {"median", 1, 1, function_median},
    {"sum", 1, 1, function_sum},
    {"count", 1, 1, function_count},
    {"stddev", 1, 1, function_stddev},
    {"slope", 1, 1, function_slope},
    {"spikes", 1, 1, function_spikes},
    {"abs", 1, 1, function_abs},
    {"sqrt", 1, 1, function_sqrt},
    {"log", 1, 1, function_log},
    {"exp", 1, 1, function_exp},
    {"finite", 1, 1, function_finite},
    {"nan", 1, 1, function_nan},
};
static const struct function percentile = {"a percentile", 1, 1, function_percentile};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

const struct function *function_find(const char *name, int *ret_percentile)
{
    *ret_percentile = 0;
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (text_equal(functions[i].name, name))
            return &functions[i];
    if (name[0] != 'p' || !isdigit((unsigned char)name[1]) || !isdigit((unsigned char)name[2]) ||
        name[3] || text_equal(name, "p00"))
        return NULL;
    *ret_percentile = 10 * (name[1] - '0') + name[2] - '0';
    return &percentile;
}

const char *function_suggest(const char *name)
{
    const char *names[FUNCTIONS];
    if (name[0] == 'p' && isdigit((unsigned char)name[1]))
        return "p01 .. p99";
    for (size_t i = 0; i < FUNCTIONS; i++)
        names[i] = functions[i].name;
    return text_nearest(name, names, FUNCTIONS);
}
