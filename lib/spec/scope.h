/* What `$name` in strings and names in expressions mean in one phase: its params, those of the
 * phases before it, and the PHASED_ variables that the worker fills in.
 *
 * Params are computed when they are first asked for, so they may stand in any order; asking for one
 * that is being computed is a cycle, and a problem. A param that has a problem is reported once;
 * what refers to it fails quietly. */
#ifndef PHASED_LIB_SPEC_SCOPE_H
#define PHASED_LIB_SPEC_SCOPE_H

#include "lib/spec/node.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct expr_names;
struct expr_scope;
struct text;

enum { SCOPE_TEXT_MAX = 64 << 10 }; /* bytes of one text whose references are replaced */

/* A phase before this one. */
struct scope_before {
    const char *phase;
    const struct node *params_node; /* or NULL; its entries are marked when they are used */
    const json_t *params;           /* computed */
    const json_t *varying;          /* names of those that depend on the GPU it gets */
    bool lacks_checkpoint;          /* nothing says what its checkpoints are called */
    bool lacks_best;                /* a matrix: none of its members is more than the others */
};

struct scope_param;

struct scope {
    struct spec_problems *problems;
    size_t *expanded; /* bytes that references made, of all phases; borrowed */
    struct scope_param *params;
    size_t param_count;
    const struct scope_before *before; /* borrowed */
    size_t before_count;
    struct expr_names *expr_before; /* the same for lib/expr */
    json_t *values;                 /* of the params that are computed by now */
    bool lacks_before;              /* there may be more: names of phases before are not judged */
};

/* `params_node` is the phase's map of params or NULL; `before` must outlive the scope. Reports
 * what is wrong with the names of params. `expanded` starts at 0 and is shared by all scopes of a
 * file: small texts that refer to each other can grow without end, so what they make is bounded by
 * SPEC_RESOLVED_SIZE_MAX in all. */
void scope_init(struct scope *scope, struct spec_problems *problems, size_t *expanded,
                const struct node *params_node, const struct scope_before *before,
                size_t before_count);
void scope_fini(struct scope *scope);

/* All params with their values, in the order written, the caller's. Those with a problem lack. */
json_t *scope_params(struct scope *scope);

/* The text of a scalar with references replaced, appended to `ret_text`. Returns false when there
 * was a problem. */
bool scope_text(struct scope *scope, const struct node *node, struct text *ret_text);

/* The value of a scalar: a number, true or false when it is written as one (without quotes) or
 * refers to one (`$iterations`), else a string; the caller's. NULL when there was a problem. */
json_t *scope_value(struct scope *scope, const struct node *node);

/* Checks the expression that the scalar `node` holds, and marks the params that it uses. Names that
 * are nothing known are metrics; those of phases must be of phases before. */
bool scope_check_expression(struct scope *scope, const struct node *node);

/* The same for one in which only the phase's own params may stand. */
bool scope_check_params(struct scope *scope, const struct node *node);

/* Whether the phase has a param of this name. */
bool scope_has_param(const struct scope *scope, const char *name);
/* Says that there is no param called as the key of `node`. */
void scope_report_param(struct scope *scope, const struct node *node);

/* Whether `name` is a param of `phase`, which comes before. */
bool scope_has_before(const struct scope *scope, const char *phase, const char *name);

/* What names mean to lib/expr, with all params that are computed by now; borrowed. */
struct expr_scope scope_expr(const struct scope *scope);

/* Whether `name` is letters, digits and `_`, not beginning with a digit or `__`, and not longer
 * than 64. */
bool scope_is_name(const char *name);

/* The params as an array of names, for suggestions; the array is the caller's to free(). */
const char **scope_names(const struct scope *scope);

/* Marks the params that the bash script `run` uses, and warns of `$names` that are nearly one. */
void scope_check_run(struct scope *scope, const struct node *run);

#endif
