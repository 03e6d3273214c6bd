/* The text of an expression as a tree. Internal to lib/expr.
 *
 * The nodes stand in the order of their evaluation: the operands of a node come right before it. So
 * the evaluation needs only a loop and a stack of values, and no recursion. `and` and `or` stand
 * between their operands, because the second operand may have to be left out. */
#ifndef PHASED_LIB_EXPR_PARSE_H
#define PHASED_LIB_EXPR_PARSE_H

#include "lib/expr/expr.h"
#include "lib/expr/value.h"

#include <stdbool.h>
#include <stddef.h>

struct error;
struct function;

enum expr_node_kind {
    EXPR_NODE_VALUE,      /* a number, a text, true or false */
    EXPR_NODE_NAME,       /* a param, a fact or a metric */
    EXPR_NODE_CALL,       /* a function with `operands` arguments */
    EXPR_NODE_NOT,        /* not a */
    EXPR_NODE_NEGATE,     /* -a */
    EXPR_NODE_ARITHMETIC, /* a + b */
    EXPR_NODE_COMPARISON, /* a < b */
    EXPR_NODE_AND,        /* if a is false, it is the result and b is skipped; else drops a */
    EXPR_NODE_OR,         /* as EXPR_NODE_AND, if a is true */
};

struct expr_node {
    enum expr_node_kind kind;
    size_t operands;                 /* how many values the node takes from the stack */
    struct value value;              /* of EXPR_NODE_VALUE; a text points into the expression */
    size_t name;                     /* of EXPR_NODE_NAME: the index in `names` of the tree */
    const struct function *function; /* of EXPR_NODE_CALL */
    double percentile;
    enum operation operation;   /* of EXPR_NODE_ARITHMETIC */
    enum comparison comparison; /* of EXPR_NODE_COMPARISON */
    const char *symbol;         /* "<=" */
    size_t last;    /* of EXPR_NODE_AND and EXPR_NODE_OR: the last node of the second operand */
    bool takes_any; /* of EXPR_NODE_OR: the first operand is an `and` or `or`, so it has any type */
};

struct tree {
    struct expr_node *nodes;
    size_t node_count;
    struct expr_name *names; /* each name once */
    size_t name_count;
};

/* Returns -EINVAL with the column if `text` is not an expression. On success `ret_tree` is the
 * caller's to tree_fini(), and borrows from `text`. */
int tree_parse(const char *text, struct tree *ret_tree, struct error *err);
void tree_fini(struct tree *tree);

#endif
