/* Evaluates an expression, and writes the result in one line. */
#include "tests/unit/expr_case.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>

char *expr_case_told(const struct expr_scope *scope, const char *text)
{
    struct expr_result result;
    struct error err;
    int status = expr_evaluate(text, scope, &result, &err);
    char *told = NULL;
    if (status == -ENODATA)
        return text_format("insufficient: %s", err.message);
    if (status < 0 && err.line)
        return text_format("column %u: %s", err.column, err.message);
    if (status < 0)
        return text_format("%s: %s", status == -E2BIG ? "limit" : "error", err.message);
    if (result.type == EXPR_BOOLEAN)
        told = text_format("%s%s", result.boolean ? "true" : "false",
                           result.nan_compared ? " with nan" : "");
    else if (result.type == EXPR_STRING)
        told = text_format("'%s'", result.string);
    else
        told = xstrdup(expr_number_text(result.number).data);
    expr_result_fini(&result);
    return told;
}

void expr_case_assert(const struct expr_scope *scope, const struct expr_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *told = expr_case_told(scope, cases[i].text);
        if (!text_equal(told, cases[i].expected))
            fail_msg("%s\n  gives     %s\n  expected  %s", cases[i].text, told, cases[i].expected);
        free(told);
    }
}
