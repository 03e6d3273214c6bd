/* Series as values of Lua, with arithmetic step by step. Internal to lib/expr. */
#ifndef PHASED_LIB_EXPR_SERIES_H
#define PHASED_LIB_EXPR_SERIES_H

#include "lib/expr/metrics.h"

#include <stddef.h>

struct lua_State;

enum series_operation {
    SERIES_ADD,
    SERIES_SUBTRACT,
    SERIES_MULTIPLY,
    SERIES_DIVIDE,
    SERIES_FLOOR_DIVIDE,
    SERIES_MODULO,
    SERIES_POWER,
    SERIES_LESSER,
    SERIES_GREATER,
};

/* NaN where either is. */
double series_compute(double a, double b, enum series_operation operation);

/* Makes the type known to a new state. */
void series_register(struct lua_State *lua);

/* Pushes a series on rows that outlive the evaluation. */
void series_push(struct lua_State *lua, const struct metrics_row *rows, size_t count);

/* Pushes a series with rows of its own, to be filled; valid while it is on the stack. Raises when
 * memory runs out. */
struct metrics_row *series_push_new(struct lua_State *lua, size_t count);

/* The series at `index`, which has rows, or NULL when something else is there; borrowed while it
 * is on the stack. */
const struct metrics_series *series_at(struct lua_State *lua, int index);

/* The number at `index`, a series' newest value; raises when it is neither. */
double series_number(struct lua_State *lua, int index);

/* Pushes `a operation b`, each a number or a series, over the steps that both have; a number when
 * both are numbers. Raises where they are something else or share no step. */
void series_combine(struct lua_State *lua, int a, int b, enum series_operation operation);

/* Pushes f of the number or of each value of the series at `index`. */
void series_map(struct lua_State *lua, int index, double (*f)(double));

#endif
