/* What a name in an expression means. Internal to lib/expr. */
#ifndef PHASED_LIB_EXPR_LOOKUP_H
#define PHASED_LIB_EXPR_LOOKUP_H

struct evaluation;
struct expr_name;
struct value;

/* Looks up a param, a fact, or the rows in the window of a metric; borrowed from the scope.
 * -ENODATA: nothing has this name. -EINVAL: no double can hold the param. */
int lookup_name(struct evaluation *evaluation, const struct expr_name *name,
                struct value *ret_value);

#endif
