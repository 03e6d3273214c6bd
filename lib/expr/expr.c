/* Expressions: the parser makes nodes, and this file evaluates them one by one on a stack of
 * values. */
#include "lib/expr/expr.h"

#include "lib/error.h"
#include "lib/expr/function.h"
#include "lib/expr/lookup.h"
#include "lib/expr/parse.h"
#include "lib/expr/value.h"
#include "lib/memory.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expr_number expr_number_text(double number)
{
    struct expr_number text;
    if (isnan(number))
        (void)snprintf(text.data, sizeof text.data, "NaN");
    else if (floor(number) == number && fabs(number) < 1e15)
        (void)snprintf(text.data, sizeof text.data, "%.0f", number);
    else
        (void)snprintf(text.data, sizeof text.data, "%.6g", number);
    return text;
}

/* Keeps a comparison of two numbers for the report. */
static void expr_keep_comparison(struct expr_result *result, const struct expr_node *node, double a,
                                 double b)
{
    struct text *text = &result->comparisons;
    text_addf(text, "%s%s %s %s%s", text->size ? ", " : "", expr_number_text(a).data, node->symbol,
              expr_number_text(b).data, comparison_holds(node->comparison, a, b) ? "" : " (false)");
    result->nan_compared = result->nan_compared || isnan(a) || isnan(b);
}

/* Returns the newest value of a series; any other value as it is. */
static struct value expr_newest(const struct value *value)
{
    if (value->type != VALUE_SERIES)
        return *value;
    return value_of_number(value->series.rows[value->series.count - 1].value);
}

/* Compares two operands. In Lua a text and a number are unequal. Here that is an error, because the
 * comparison is a mistake. */
static int expr_compare(struct evaluation *evaluation, const struct expr_node *node,
                        const struct value operands[2], struct value *ret_value)
{
    struct value a = expr_newest(&operands[0]), b = expr_newest(&operands[1]);
    bool is_equality =
        node->comparison == COMPARISON_EQUAL || node->comparison == COMPARISON_UNEQUAL;
    if (a.type != b.type)
        return error_set(evaluation->err, -EINVAL, "compares %s with %s", value_type_name(&a),
                         value_type_name(&b));
    if (a.type != VALUE_NUMBER && !is_equality)
        return error_set(evaluation->err, -EINVAL, "%s cannot be less or greater",
                         value_type_name(&a));
    if (a.type == VALUE_NUMBER)
        expr_keep_comparison(&evaluation->result, node, a.number, b.number);
    else if (a.type == VALUE_BOOLEAN)
        a.number = a.boolean != b.boolean; /* the number of b is 0: 0 == 0 is true, 1 == 0 is not */
    else
        a.number = a.text.size != b.text.size || memcmp(a.text.data, b.text.data, a.text.size) != 0;
    *ret_value = value_of_boolean(comparison_holds(node->comparison, a.number, b.number));
    return 0;
}

static double expr_negative(double value)
{
    return -value;
}

/* Reads an operand of `not`, `and` or `or`. In Lua every value but false counts as true. Here
 * another value is an error, because `not nan(loss)` would always be false. */
static int expr_truth(struct evaluation *evaluation, const struct value *value, const char *word,
                      bool *ret_truth)
{
    if (value->type != VALUE_BOOLEAN)
        return error_set(evaluation->err, -EINVAL,
                         "%s needs true or false, not %s: write a comparison", word,
                         value_type_name(value));
    *ret_truth = value->boolean;
    return 0;
}

/* Computes a node from its operands. The caller still releases the operands. */
static int expr_compute_node(struct evaluation *evaluation, const struct tree *tree,
                             const struct expr_node *node, const struct value *operands,
                             struct value *ret_value)
{
    bool truth = false;
    int status;
    switch (node->kind) {
    case EXPR_NODE_VALUE:
        *ret_value = node->value;
        return 0;
    case EXPR_NODE_NAME:
        return lookup_name(evaluation, &tree->names[node->name], ret_value);
    case EXPR_NODE_CALL:
        return function_call(evaluation, node->function, node->percentile, operands, node->operands,
                             ret_value);
    case EXPR_NODE_NOT:
        status = expr_truth(evaluation, &operands[0], "not", &truth);
        *ret_value = value_of_boolean(!truth);
        return status;
    case EXPR_NODE_NEGATE:
        return value_map(evaluation, &operands[0], expr_negative, ret_value);
    case EXPR_NODE_ARITHMETIC:
        return value_combine(evaluation, &operands[0], &operands[1], node->operation, ret_value);
    case EXPR_NODE_COMPARISON:
        return expr_compare(evaluation, node, operands, ret_value);
    case EXPR_NODE_AND:
    case EXPR_NODE_OR:
        break;
    }
    return error_set(evaluation->err, -EINVAL, "cannot be evaluated");
}

struct stack {
    struct value *values;
    size_t height;
};

static void stack_drop(struct stack *stack, struct evaluation *evaluation, size_t count)
{
    for (; count; count--)
        value_release(evaluation, &stack->values[--stack->height]);
}

/* Computes the `and` or `or` whose first operand is on the stack. Its value is the first operand,
 * and the second is skipped, or it is the second operand. */
static int expr_choose(struct evaluation *evaluation, const struct expr_node *node,
                       struct stack *stack, bool *ret_skip)
{
    const struct value *first = &stack->values[stack->height - 1];
    bool is_or = node->kind == EXPR_NODE_OR, truth = true;
    int status = 0;
    /* `a and 32 or 64` chooses between 32 and 64. */
    if (!node->takes_any || first->type == VALUE_BOOLEAN)
        status = expr_truth(evaluation, first, is_or ? "or" : "and", &truth);
    if (status < 0)
        return status;
    *ret_skip = truth == is_or;
    if (!*ret_skip)
        stack_drop(stack, evaluation, 1);
    return 0;
}

/* Leaves the value of the whole expression on the stack. */
static int expr_compute_nodes(struct evaluation *evaluation, const struct tree *tree,
                              struct stack *stack)
{
    for (size_t i = 0; i < tree->node_count; i++) {
        const struct expr_node *node = &tree->nodes[i];
        struct value value, *operands = &stack->values[stack->height - node->operands];
        bool is_choice = node->kind == EXPR_NODE_AND || node->kind == EXPR_NODE_OR, skip = false;
        int status = is_choice ? expr_choose(evaluation, node, stack, &skip)
                               : expr_compute_node(evaluation, tree, node, operands, &value);
        if (status < 0)
            return status;
        if (skip)
            i = node->last;
        if (is_choice)
            continue;
        stack_drop(stack, evaluation, node->operands);
        stack->values[stack->height++] = value;
    }
    return 0;
}

static void expr_keep_result(struct expr_result *result, const struct value *value)
{
    struct value newest = expr_newest(value);
    result->type = EXPR_NUMBER;
    result->number = newest.number;
    if (newest.type == VALUE_BOOLEAN) {
        result->type = EXPR_BOOLEAN;
        result->boolean = newest.boolean;
    } else if (newest.type == VALUE_TEXT) {
        result->type = EXPR_STRING;
        result->string = xstrndup(newest.text.data, newest.text.size);
    }
}

int expr_list_names(const char *text, struct expr_name **ret_names, struct error *err)
{
    struct tree tree;
    int status = tree_parse(text, &tree, err);
    if (status < 0)
        return status;
    int count = (int)tree.name_count;
    *ret_names = tree.names;
    tree.names = NULL;
    tree_fini(&tree);
    return count;
}

int expr_evaluate(const char *text, const struct expr_scope *scope, struct expr_result *ret_result,
                  struct error *err)
{
    struct tree tree;
    struct evaluation evaluation = {.scope = scope, .err = err};
    int status = tree_parse(text, &tree, err);
    if (status < 0)
        return status;
    struct stack stack = {.values = xcalloc(tree.node_count, sizeof *stack.values)};
    status = expr_compute_nodes(&evaluation, &tree, &stack);
    ret_result->work = evaluation.result.work = evaluation.work;
    if (status == 0) {
        expr_keep_result(&evaluation.result, &stack.values[0]);
        *ret_result = evaluation.result;
    } else {
        expr_result_fini(&evaluation.result);
    }
    stack_drop(&stack, &evaluation, stack.height);
    assert(evaluation.memory == 0);
    free(stack.values);
    tree_fini(&tree);
    return status;
}

void expr_result_fini(struct expr_result *result)
{
    free(result->string);
    text_fini(&result->comparisons);
    *result = (struct expr_result){0};
}

/* Returns an integer if the number is whole and less than 2^53: 2^53 + 1 is rounded to 2^53. */
static json_t *expr_number_json(double number)
{
    if (floor(number) == number && fabs(number) < 9007199254740992.0)
        return json_integer((json_int_t)number);
    return json_real(number);
}

int expr_compute(const char *text, const struct expr_scope *scope, json_t **ret_value,
                 struct error *err)
{
    struct expr_result result;
    int status = expr_evaluate(text, scope, &result, err);
    if (status < 0)
        return status;
    json_t *value = NULL;
    if (result.type == EXPR_NUMBER && !isfinite(result.number))
        status = error_set(err, -EINVAL, "the result is %s", expr_number_text(result.number).data);
    else if (result.type == EXPR_NUMBER)
        value = expr_number_json(result.number);
    else if (result.type == EXPR_BOOLEAN)
        value = json_boolean(result.boolean);
    else if (!(value = json_string(result.string)))
        status = error_set(err, -EINVAL, "the result is not valid UTF-8");
    if (value)
        *ret_value = value;
    expr_result_fini(&result);
    return status;
}
