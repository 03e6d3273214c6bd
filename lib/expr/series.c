/* Series in Lua: a userdata that points to rows, and the metamethods of arithmetic.
 *
 * A metric's rows stay where they are in the store, which outlives the evaluation; results have
 * theirs behind the userdata's head, so that Lua's garbage collector frees them and its allocator
 * counts them. Functions here may end in an error, which is a longjmp: nothing is ever held that
 * would have to be freed. */
#include "lib/expr/series.h"

#include "lib/expr/sandbox.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <math.h>

static const char series_type[] = "series";

/* A number or a series, walked alike. */
struct operand {
    const struct metrics_series *series; /* NULL for a number */
    double number;
    size_t at;
};

double series_compute(double a, double b, enum series_operation operation)
{
    switch (operation) {
    case SERIES_ADD:
        return a + b;
    case SERIES_SUBTRACT:
        return a - b;
    case SERIES_MULTIPLY:
        return a * b;
    case SERIES_DIVIDE:
        return a / b;
    case SERIES_FLOOR_DIVIDE:
        return floor(a / b);
    case SERIES_MODULO: { /* as Lua: the result has the sign of b */
        double rest = fmod(a, b);
        return rest * b < 0 ? rest + b : rest;
    }
    case SERIES_POWER:
        return pow(a, b);
    case SERIES_LESSER:
        return isnan(a) || a < b ? a : b; /* b where b is NaN */
    case SERIES_GREATER:
        return isnan(a) || a > b ? a : b;
    }
    return NAN;
}

static struct operand series_operand(lua_State *lua, int index)
{
    struct operand operand = {.series = series_at(lua, index)};
    if (!operand.series)
        operand.number = series_number(lua, index);
    return operand;
}

/* Moves both on to the next step that both have; false when there is none. */
static bool series_meet(struct operand *a, struct operand *b)
{
    while (a->series && b->series && a->at < a->series->count && b->at < b->series->count) {
        int64_t a_step = a->series->rows[a->at].step, b_step = b->series->rows[b->at].step;
        if (a_step == b_step)
            return true;
        if (a_step < b_step)
            a->at++;
        else
            b->at++;
    }
    return (!a->series || a->at < a->series->count) && (!b->series || b->at < b->series->count);
}

static double operand_value(const struct operand *operand)
{
    return operand->series ? operand->series->rows[operand->at].value : operand->number;
}

/* How many rows a combination has, so that it can be made in the right size. */
static size_t series_count_met(struct operand a, struct operand b)
{
    size_t count = 0;
    for (; series_meet(&a, &b); a.at++, b.at++)
        count++;
    return count;
}

void series_combine(lua_State *lua, int a_index, int b_index, enum series_operation operation)
{
    struct operand a = series_operand(lua, a_index), b = series_operand(lua, b_index);
    if (!a.series && !b.series) {
        lua_pushnumber(lua, series_compute(a.number, b.number, operation));
        return;
    }
    sandbox_charge(lua, (a.series ? a.series->count : 0) + (b.series ? b.series->count : 0));
    size_t count = series_count_met(a, b);
    if (!count)
        sandbox_raise(lua, -ENODATA, "metrics are combined that share no step");
    struct metrics_row *rows = series_push_new(lua, count);
    /* A number meets every step; its `at` moves along without meaning. */
    for (size_t i = 0; series_meet(&a, &b); a.at++, b.at++, i++) {
        rows[i] = a.series ? a.series->rows[a.at] : b.series->rows[b.at];
        rows[i].value = series_compute(operand_value(&a), operand_value(&b), operation);
    }
}

void series_map(lua_State *lua, int index, double (*f)(double))
{
    const struct metrics_series *series = series_at(lua, index);
    if (!series) {
        lua_pushnumber(lua, f(series_number(lua, index)));
        return;
    }
    sandbox_charge(lua, series->count);
    struct metrics_row *rows = series_push_new(lua, series->count);
    for (size_t i = 0; i < series->count; i++) {
        rows[i] = series->rows[i];
        rows[i].value = f(rows[i].value);
    }
}

static int series_add(lua_State *lua)
{
    series_combine(lua, 1, 2, SERIES_ADD);
    return 1;
}

static int series_subtract(lua_State *lua)
{
    series_combine(lua, 1, 2, SERIES_SUBTRACT);
    return 1;
}

static int series_multiply(lua_State *lua)
{
    series_combine(lua, 1, 2, SERIES_MULTIPLY);
    return 1;
}

static int series_divide(lua_State *lua)
{
    series_combine(lua, 1, 2, SERIES_DIVIDE);
    return 1;
}

static int series_floor_divide(lua_State *lua)
{
    series_combine(lua, 1, 2, SERIES_FLOOR_DIVIDE);
    return 1;
}

static int series_modulo(lua_State *lua)
{
    series_combine(lua, 1, 2, SERIES_MODULO);
    return 1;
}

static int series_power(lua_State *lua)
{
    series_combine(lua, 1, 2, SERIES_POWER);
    return 1;
}

static double series_minus(double value)
{
    return -value;
}

static int series_negate(lua_State *lua)
{
    series_map(lua, 1, series_minus);
    return 1;
}

void series_register(lua_State *lua)
{
    static const luaL_Reg arithmetic[] = {
        {"__add", series_add},           {"__sub", series_subtract}, {"__mul", series_multiply},
        {"__div", series_divide},        {"__mod", series_modulo},   {"__pow", series_power},
        {"__idiv", series_floor_divide}, {"__unm", series_negate},   {NULL, NULL},
    };
    (void)luaL_newmetatable(lua, series_type); /* the state is new: it cannot be there */
    luaL_setfuncs(lua, arithmetic, 0);
    lua_pop(lua, 1);
}

void series_push(lua_State *lua, const struct metrics_row *rows, size_t count)
{
    struct metrics_series *series = lua_newuserdatauv(lua, sizeof *series, 0);
    *series = (struct metrics_series){.rows = rows, .count = count};
    luaL_setmetatable(lua, series_type);
}

struct metrics_row *series_push_new(lua_State *lua, size_t count)
{
    struct metrics_series *series =
        lua_newuserdatauv(lua, sizeof *series + count * sizeof *series->rows, 0);
    struct metrics_row *rows = (struct metrics_row *)(series + 1);
    *series = (struct metrics_series){.rows = rows, .count = count};
    luaL_setmetatable(lua, series_type);
    return rows;
}

const struct metrics_series *series_at(lua_State *lua, int index)
{
    return luaL_testudata(lua, index, series_type);
}

double series_number(lua_State *lua, int index)
{
    /* lua_tonumber() would take "12" for a number, which Lua's own arithmetic here does not. */
    const struct metrics_series *series = series_at(lua, index);
    if (series)
        return series->rows[series->count - 1].value;
    if (lua_type(lua, index) != LUA_TNUMBER)
        sandbox_raise(lua, -EINVAL, "%s stands where a number is needed",
                      lua_type(lua, index) == LUA_TSTRING ? "text" : "true or false");
    return lua_tonumber(lua, index);
}
