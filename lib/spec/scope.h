/* What `$name` in strings and names in expressions mean in one phase: params of the phase, params
 * of the phases before it, and the PHASED_ variables that the worker sets.
 *
 * A param is computed when it is first used, so params may stand in any order. If a param is used
 * while it is being computed, there is a cycle. A param with a problem is reported once; a value
 * that refers to it fails without a message. */
#ifndef PHASED_LIB_SPEC_SCOPE_H
#define PHASED_LIB_SPEC_SCOPE_H

#include "lib/spec/yaml_node.h"

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
    const struct yaml_node *params_node; /* or NULL; a node is marked when its param is used */
    const json_t *params;                /* computed */
    const json_t *varying;               /* the names of the params that depend on the GPU */
    bool lacks_checkpoint;               /* the phase has no checkpoints */
    bool lacks_best;                     /* the phase is a matrix without `best` */
};

struct scope_param;

struct scope {
    struct spec_problems *problems;
    size_t *expanded; /* bytes that references have added in all phases; borrowed */
    struct scope_param *params;
    size_t param_count;
    const struct scope_before *before; /* borrowed */
    size_t before_count;
    struct expr_names *expr_before; /* `before`, in the form that lib/expr wants */
    json_t *values;                 /* the values of the params that are computed by now */
    const struct yaml_node *env;    /* the phase's own variables, or NULL; borrowed */
    bool lacks_before; /* `after` had problems: names of other phases are not checked */
};

/* `params_node` is the phase's map of params or NULL; `before` must outlive the scope. Reports
 * wrong names of params. `expanded` starts at 0 and is shared by all scopes of a file. It bounds
 * the bytes that references add to SPEC_RESOLVED_SIZE_MAX, because small texts that refer to each
 * other could grow without end. */
void scope_init(struct scope *scope, struct spec_problems *problems, size_t *expanded,
                const struct yaml_node *params_node, const struct scope_before *before,
                size_t before_count);
void scope_fini(struct scope *scope);

/* Returns all params with their values, in the order of the file: a new reference. Params with a
 * problem are left out. */
json_t *scope_params(struct scope *scope);

/* Appends the text of a scalar to `ret_text`, with references replaced. Returns false after a
 * problem. */
bool scope_text(struct scope *scope, const struct yaml_node *node, struct text *ret_text);

/* Appends `text` to `ret_text`, with `$` in place of `$$`. Returns false if the text has a
 * reference.
 */
bool scope_text_plain(const char *text, struct text *ret_text);
/* Adds `value` with `$$` in place of `$`, so that no part of the value is a reference. */
void scope_add_plain(struct text *text, const char *value);

/* Returns the value of a scalar, a new reference. It is a number, true or false if the file has it
 * so without quotes, or if the scalar refers to such a param (`$iterations`). Otherwise it is a
 * string. NULL after a problem. */
json_t *scope_value(struct scope *scope, const struct yaml_node *node);

/* Checks the expression in the scalar `node`, and marks the params that it uses. Unknown names are
 * metrics. Names of other phases must be those of phases before this one. */
bool scope_check_expression(struct scope *scope, const struct yaml_node *node);

/* As scope_check_expression(), for an expression that may use only params of the phase. */
bool scope_check_params(struct scope *scope, const struct yaml_node *node);

/* Whether the phase has a param of this name. */
bool scope_has_param(const struct scope *scope, const char *name);
/* Reports that there is no param with the name of the key of `node`. */
void scope_report_param(struct scope *scope, const struct yaml_node *node);

/* Whether `name` is a param of `phase`, which comes before this phase. */
bool scope_has_before(const struct scope *scope, const char *phase, const char *name);

/* Returns what names mean to lib/expr, with all params that are computed by now; borrowed. */
struct expr_scope scope_expr(const struct scope *scope);

/* Whether `name` has only letters, digits and `_`, does not begin with a digit or `__`, and is not
 * longer than 64. */
bool scope_is_name(const char *name);
/* Whether the key of `node` is such a name; if not, reports it. */
bool scope_check_name(struct spec_problems *problems, const struct yaml_node *node);

/* Checks a bash script, the value of the key `run` or `join`. Marks the params that the script
 * uses, and warns of `$names` that are nearly one. */
void scope_check_script(struct scope *scope, const struct yaml_node *script);

#endif
