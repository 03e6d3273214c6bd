/* Tables of expressions and what they give, for the tests of expressions. */
#ifndef PHASED_TESTS_UNIT_EXPR_CASE_H
#define PHASED_TESTS_UNIT_EXPR_CASE_H

#include "lib/expr/expr.h"

struct expr_case {
    const char *text;
    const char *expected; /* as expr_case_told() tells it */
};

/* "15", "true", "'text'", or "insufficient: reason", "column 3: reason", "error: reason", "limit:
 * reason"; the caller's to free(). */
char *expr_case_told(const struct expr_scope *scope, const char *text);

/* Fails the test at the first case that gives something else. */
void expr_case_assert(const struct expr_scope *scope, const struct expr_case *cases, size_t count);

#define ASSERT_CASES(scope, cases) expr_case_assert(scope, cases, sizeof(cases) / sizeof *(cases))

#endif
