/* What a name in an expression means. Internal to lib/expr. */
#ifndef PHASED_LIB_EXPR_LOOKUP_H
#define PHASED_LIB_EXPR_LOOKUP_H

struct expr_name;
struct lua_State;

/* Pushes the param, fact or series (its window's rows) of that name; raises -ENODATA when there is
 * none. */
void lookup_push(struct lua_State *lua, const struct expr_name *name);

#endif
