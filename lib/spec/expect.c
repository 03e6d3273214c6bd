/* Reading `expect:`. */
#include "lib/spec/expect.h"

#include "lib/amount.h"
#include "lib/spec/keys.h"
#include "lib/spec/node.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/text.h"

#include <stdbool.h>

static bool expect_read_number(struct scope *scope, const struct node *node, double *ret_number)
{
    double number;
    if (!scalar_number(scope, node, &number))
        return false;
    if (number <= 0) {
        node_problem(scope->problems, node, "not more than 0");
        return false;
    }
    *ret_number = number;
    return true;
}

/* `490`, or `[245, 490]`. */
static json_t *expect_read_range(struct scope *scope, const struct node *node)
{
    double from, to;
    bool is_range = node->kind == NODE_LIST && node->count == 2;
    if (node->kind != NODE_SCALAR && !is_range) {
        node_problem(scope->problems, node, "neither a number nor a range, such as [3, 5]");
        return NULL;
    }
    const struct node *first = is_range ? node->items[0] : node;
    const struct node *last = is_range ? node->items[1] : node;
    if (!expect_read_number(scope, first, &from) || !expect_read_number(scope, last, &to))
        return NULL;
    if (from > to) {
        node_problem(scope->problems, node, "ends before it begins");
        return NULL;
    }
    return json_pack("[o, o]", scope_value(scope, first), scope_value(scope, last));
}

json_t *expect_read(struct scope *scope, const struct node *node, const json_t *price)
{
    if (!node)
        return NULL;
    if (node->kind != NODE_MAP || node->count == 0) {
        node_problem(scope->problems, node,
                     "not an expectation, such as {hours: [3, 5], usd: 490}");
        return NULL;
    }
    keys_check(scope->problems, node, &keys_budget);
    json_t *expect = json_object();
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        const struct node *item = node_get(node, amount_key(i));
        json_t *range = item ? expect_read_range(scope, item) : NULL;
        if (item && i == AMOUNT_USD && !price)
            node_key_problem(scope->problems, item,
                             "there is no price to count by, such as price: {per_gpu_hour: 2.5}");
        if (range)
            (void)json_object_set_new(expect, amount_key(i), range);
    }
    if (json_object_size(expect) > 0)
        return expect;
    json_decref(expect);
    return NULL;
}
