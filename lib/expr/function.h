/* The functions an expression may call. Internal to lib/expr. */
#ifndef PHASED_LIB_EXPR_FUNCTION_H
#define PHASED_LIB_EXPR_FUNCTION_H

#include <stddef.h>

struct lua_State;

enum { FUNCTION_ARGUMENTS_MAX = 16 };

struct function {
    const char *name;
    size_t arguments_min, arguments_max;
    int (*call)(struct lua_State *lua); /* upvalue 1: the percentile */
};

/* The function of that name, or NULL. Percentiles p01 .. p99 are one function, and `ret_percentile`
 * is which; for others it is 0. */
const struct function *function_find(const char *name, int *ret_percentile);

/* The name nearest to a wrong one, or NULL. */
const char *function_suggest(const char *name);

#endif
