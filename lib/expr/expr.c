/* Expressions: scanned, then run in a sandbox of their own, which is cheap (some 10 us) and leaves
 * nothing behind. */
#include "lib/expr/expr.h"

#include "lib/error.h"
#include "lib/expr/sandbox.h"
#include "lib/expr/scan.h"
#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

static bool expr_compare(double a, double b, enum scan_comparison comparison)
{
    switch (comparison) {
    case SCAN_EQ:
        return a == b;
    case SCAN_NE:
        return a != b;
    case SCAN_LT:
        return a < b;
    case SCAN_LE:
        return a <= b;
    case SCAN_GT:
        return a > b;
    case SCAN_GE:
        return a >= b;
    }
    return false;
}

/* Tells the comparisons between numbers that were made, in the order they are written. */
static void expr_describe_comparisons(struct sandbox *sandbox)
{
    struct text *text = &sandbox->result.comparisons;
    for (size_t i = 0; i < sandbox->scan->comparison_count; i++) {
        const struct sandbox_comparison *made = &sandbox->comparisons[i];
        enum scan_comparison comparison = sandbox->scan->comparisons[i];
        if (made->is_numeric)
            text_addf(text, "%s%s %s %s%s", text->size ? ", " : "",
                      expr_number_text(made->left).data, scan_comparison_name(comparison),
                      expr_number_text(made->right).data,
                      expr_compare(made->left, made->right, comparison) ? "" : " (false)");
    }
}

/* Scans and runs; without a scope Lua only compiles, which finds nesting that is too deep for it.
 */
static int expr_run(const char *text, const struct expr_scope *scope, struct expr_result *ret,
                    struct error *err)
{
    struct scan scan;
    int result = scan_text(text, &scan, err);
    if (result < 0)
        return result;
    struct sandbox sandbox = {.scan = &scan, .scope = scope};
    sandbox.comparisons = xcalloc(scan.comparison_count + 1, sizeof *sandbox.comparisons);
    result = sandbox_run(&sandbox);
    if (result < 0) {
        expr_result_fini(&sandbox.result);
        if (err)
            *err = sandbox.error;
        goto out;
    }
    expr_describe_comparisons(&sandbox);
    if (ret)
        *ret = sandbox.result;
    else
        expr_result_fini(&sandbox.result);
out:
    free(sandbox.comparisons);
    scan_fini(&scan);
    return result;
}

int expr_check_syntax(const char *text, struct error *err)
{
    return expr_run(text, NULL, NULL, err);
}

int expr_list_names(const char *text, struct expr_name **ret_names, struct error *err)
{
    struct scan scan;
    int result = scan_text(text, &scan, err);
    if (result < 0)
        return result;
    result = (int)scan.name_count;
    *ret_names = scan.names;
    scan.names = NULL;
    scan_fini(&scan);
    return result;
}

int expr_evaluate(const char *text, const struct expr_scope *scope, struct expr_result *ret_result,
                  struct error *err)
{
    return expr_run(text, scope, ret_result, err);
}

void expr_result_fini(struct expr_result *result)
{
    if (!result)
        return;
    free(result->string);
    text_fini(&result->comparisons);
    *result = (struct expr_result){0};
}

/* Whole where it is, as far as a double tells whole numbers apart. */
static json_t *expr_number_json(double number)
{
    if (floor(number) == number && fabs(number) <= 9007199254740992.0)
        return json_integer((json_int_t)number);
    return json_real(number);
}

int expr_compute(const char *text, const struct expr_scope *scope, json_t **ret_value,
                 struct error *err)
{
    struct expr_result result;
    int code = expr_evaluate(text, scope, &result, err);
    if (code < 0)
        return code;
    json_t *value = NULL;
    if (result.type == EXPR_NUMBER && !isfinite(result.number))
        code = error_set(err, -EINVAL, "the result is %s", expr_number_text(result.number).data);
    else if (result.type == EXPR_NUMBER)
        value = expr_number_json(result.number);
    else if (result.type == EXPR_BOOLEAN)
        value = json_boolean(result.boolean);
    else if (!(value = json_string(result.string)))
        code = error_set(err, -EINVAL, "the result is no valid UTF-8");
    if (value)
        *ret_value = value;
    expr_result_fini(&result);
    return code;
}
