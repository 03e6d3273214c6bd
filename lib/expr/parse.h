/* An expression's text as a tree. Internal to lib/expr.
 *
 * The nodes stand in the order in which they are evaluated: the operands of a node come right
 * before it. So whoever evaluates needs a loop and a stack of values, and no recursion. `and` and
 * `or` stand between their operands, because the second may have to be left out. */
#ifndef PHASED_LIB_EXPR_PARSE_H
#define PHASED_LIB_EXPR_PARSE_H

#include "lib/expr/expr.h"
#include "lib/expr/value.h"

#include <stddef.h>

struct error;
struct function;

enum node_kind {
    NODE_VALUE,      /* a number, a text, true or false */
    NODE_NAME,       /* a param, a fact or a metric */
    NODE_CALL,       /* a function with `operands` arguments */
    NODE_NOT,        /* not a */
    NODE_NEGATE,     /* -a */
    NODE_ARITHMETIC, /* a + b */
    NODE_COMPARISON, /* a < b */
    NODE_AND,        /* if a is false, it is the result and b is left out; else drops a */
    NODE_OR,         /* the same, if a is true */
};

enum comparison {
    COMPARISON_EQUAL,
    COMPARISON_UNEQUAL,
    COMPARISON_LESS,
    COMPARISON_LESS_EQUAL,
    COMPARISON_GREATER,
    COMPARISON_GREATER_EQUAL,
};

struct node {
    enum node_kind kind;
    size_t operands;                 /* how many values it takes from the stack */
    struct value value;              /* NODE_VALUE; a text points into the expression */
    size_t name;                     /* NODE_NAME: which of the tree's */
    const struct function *function; /* NODE_CALL */
    double percentile;
    enum operation operation;   /* NODE_ARITHMETIC */
    enum comparison comparison; /* NODE_COMPARISON */
    const char *symbol;         /* "<=" */
    size_t last;                /* NODE_AND, NODE_OR: the second operand's last node */
};

struct tree {
    struct node *nodes;
    size_t node_count;
    struct expr_name *names; /* each once */
    size_t name_count;
};

/* -EINVAL with the column if `text` is no expression; `ret_tree` is to be tree_fini()ed only on
 * success, and borrows from `text`. */
int tree_parse(const char *text, struct tree *ret_tree, struct error *err);
void tree_fini(struct tree *tree);

#endif
