/* What a name in an expression means. Internal to lib/expr. */
#ifndef PHASED_LIB_EXPR_LOOKUP_H
#define PHASED_LIB_EXPR_LOOKUP_H

struct evaluation;
struct expr_name;
struct value;

/* The param, fact or metric (the rows in the window) of that name, borrowed from the scope.
 * -ENODATA if there is none, -EINVAL for a param that no number can hold. */
int lookup_name(struct evaluation *evaluation, const struct expr_name *name,
                struct value *ret_value);

#endif
