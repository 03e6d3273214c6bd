/* The tokens of an expression: what is let through to Lua, and how it is handed over.
 *
 * Only what expr.h lists gets past here, so that Lua never sees a statement, a table or a method.
 * The Lua text made differs from what was written in four ways: numbers are floating point (Lua's
 * integers wrap), the i-th name is `__name(i)`, the i-th call calls `__call_i`, and both sides of
 * the i-th comparison are passed through `__left(i, ...)` and `__right(i, ...)`, which put a
 * series' newest value in its place (Lua itself would call a series unequal to any number) and
 * note the numbers. Indices are from 0. Internal to lib/expr. */
#ifndef PHASED_LIB_EXPR_SCAN_H
#define PHASED_LIB_EXPR_SCAN_H

#include "lib/expr/expr.h"
#include "lib/text.h"

#include <stddef.h>

struct error;
struct function;

enum scan_comparison { SCAN_EQ, SCAN_NE, SCAN_LT, SCAN_LE, SCAN_GT, SCAN_GE };

struct scan_call {
    const struct function *function;
    int percentile; /* 95 for p95 */
};

struct scan {
    struct text lua;         /* "return ..." */
    struct expr_name *names; /* each once */
    size_t name_count;
    struct scan_call *calls;
    size_t call_count;
    enum scan_comparison *comparisons;
    size_t comparison_count;
};

/* -EINVAL with the column where `text` is no expression; `ret_scan` is to be scan_fini()ed only
 * when it succeeds. */
int scan_text(const char *text, struct scan *ret_scan, struct error *err);
void scan_fini(struct scan *scan);

/* "<=" and so on. */
const char *scan_comparison_name(enum scan_comparison comparison);

#endif
