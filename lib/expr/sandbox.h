/* One evaluation: a Lua state without libraries, whose memory, instructions and work on rows are
 * bounded, and what the functions called from it need to know. Internal to lib/expr, and with
 * series.h and function.c the only part that knows Lua. */
#ifndef PHASED_LIB_EXPR_SANDBOX_H
#define PHASED_LIB_EXPR_SANDBOX_H

#include "lib/error.h"
#include "lib/expr/expr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lua_State;
struct scan;

/* One comparison of the expression, as far as it was made. */
struct sandbox_comparison {
    int left_type;   /* of Lua */
    bool is_numeric; /* both numbers are known */
    double left, right;
};

struct sandbox {
    const struct scan *scan;
    const struct expr_scope *scope;         /* NULL: compile only */
    struct sandbox_comparison *comparisons; /* one for each of the scan's */
    struct expr_result result;
    size_t memory;
    uint64_t work; /* rows walked */
    struct error error;
};

/* Runs the scan's Lua text and fills sandbox->result; on failure sandbox->error is filled. */
int sandbox_run(struct sandbox *sandbox);

/* For functions called from Lua: the evaluation they belong to. */
struct sandbox *sandbox_of(struct lua_State *lua);

/* Ends the evaluation with this error; does not return. */
_Noreturn void sandbox_raise(struct lua_State *lua, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Counts `rows` rows as walked; raises when it is too many. */
void sandbox_charge(struct lua_State *lua, size_t rows);

#endif
