/* Any bytes as an expression and as a check. They are parsed, listed, tried, and judged on a small
 * phase. */
#include "tests/fuzz/fuzz.h"

#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/expr/expr.h"
#include "lib/expr/metrics.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "expr";

static struct metrics *fuzz_metrics(void)
{
    struct metrics *metrics = metrics_new();
    for (int step = 0; step < 60; step++) {
        metrics_add(metrics, "loss", step, step, 10 - 0.1 * step);
        metrics_add(metrics, "sick", step, step, step % 7 ? 1.0 * step : NAN);
        metrics_add(metrics, "late", step + 50, step, INFINITY);
    }
    return metrics;
}

/* An expression with a syntax error must name its place. A parsed expression must not have a syntax
 * error later. */
static void fuzz_evaluate(const char *text, const struct expr_scope *scope)
{
    struct error err = {0};
    struct expr_result result;
    struct expr_name *names = NULL;
    int listed = expr_list_names(text, &names, &err);
    assert(listed >= 0 || listed == -EINVAL);
    free(names);
    int status = expr_evaluate(text, scope, &result, &err);
    assert(status <= 0 && (listed >= 0 || status == -EINVAL));
    if (status == 0)
        expr_result_fini(&result);
    else
        assert(err.message[0]);
}

static void fuzz_judge(const char *text, const char *key, struct expr_scope *scope)
{
    struct check check;
    struct verdict verdict;
    json_t *json =
        json_pack("{s:s, s:{s:i}, s:{s:i}}", key, text, "over", "steps", 20, "skip", "steps", 10);
    if (!json)
        return; /* not UTF-8, so no spec can contain it */
    if (text_equal(key, "value"))
        (void)json_object_set_new(json, "at_least", json_integer(5));
    if (check_from_json("fuzzed", json, &check, NULL) == 0) {
        (void)check_try(&check, scope, NULL); /* either answer is fine */
        check_evaluate(&check, CHECK_GUARD, scope, &verdict);
        json_decref(verdict_to_json(&verdict));
        verdict_fini(&verdict);
        check_fini(&check);
    }
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct metrics *metrics = fuzz_metrics();
    json_t *params = json_pack("{s:i, s:s, s:b}", "depth", 12, "preset", "extreme", "on", 1);
    assert(text && params);
    struct expr_names before = {.phase = "validate", .params = params, .metrics = metrics};
    struct expr_scope scope = {
        .own = {.params = params, .metrics = metrics}, .before = &before, .before_count = 1};
    fuzz_evaluate(text, &scope);
    fuzz_judge(text, "condition", &scope);
    fuzz_judge(text, "value", &scope);
    json_decref(params);
    metrics_free(metrics);
    free(text);
    return 0;
}
