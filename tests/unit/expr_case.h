/* Tables of expressions and their results, for the tests of expressions. */
#ifndef PHASED_TESTS_UNIT_EXPR_CASE_H
#define PHASED_TESTS_UNIT_EXPR_CASE_H

#include "lib/expr/expr.h"

struct expr_case {
    const char *text;
    const char *expected; /* as expr_case_told() writes it */
};

/* Returns "15", "true", "'text'", or "insufficient: reason", "column 3: reason", "error: reason",
 * "limit: reason". The caller frees the text. */
char *expr_case_told(const struct expr_scope *scope, const char *text);

/* Fails the test at the first case with another result. */
void expr_case_assert(const struct expr_scope *scope, const struct expr_case *cases, size_t count);

#define ASSERT_CASES(scope, cases) expr_case_assert(scope, cases, sizeof(cases) / sizeof *(cases))

#endif
