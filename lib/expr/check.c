/* Reading checks from JSON, trying them, and judging them. */
#include "lib/expr/check.h"

#include "lib/error.h"
#include "lib/expr/value.h"
#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct {
    const char *words;  /* "at least 15" */
    const char *broken; /* "12.3 is below 15" */
    enum comparison comparison;
} bounds[CHECK_BOUNDS] = {
    [CHECK_AT_LEAST] = {"at least", "is below", COMPARISON_GREATER_EQUAL},
    [CHECK_AT_MOST] = {"at most", "is above", COMPARISON_LESS_EQUAL},
    [CHECK_ABOVE] = {"above", "is not above", COMPARISON_GREATER},
    [CHECK_BELOW] = {"below", "is not below", COMPARISON_LESS},
};

int check_from_json(const char *name, const json_t *json, struct check *ret_check,
                    struct error *err)
{
    const char *condition = NULL, *value = NULL, *otherwise = "fail", *advice = NULL;
    double bound[CHECK_BOUNDS] = {NAN, NAN, NAN, NAN}, over_s = 0, skip_s = 0;
    json_int_t over_steps = 0, skip_steps = 0;
    if (json_unpack((json_t *)json,
                    "{s?s, s?s, s?F, s?F, s?F, s?F, s?{s?I, s?F !}, s?{s?I, s?F !}, s?s, s?s !}",
                    "condition", &condition, "value", &value, "at_least", &bound[CHECK_AT_LEAST],
                    "at_most", &bound[CHECK_AT_MOST], "above", &bound[CHECK_ABOVE], "below",
                    &bound[CHECK_BELOW], "over", "steps", &over_steps, "seconds", &over_s, "skip",
                    "steps", &skip_steps, "seconds", &skip_s, "else", &otherwise, "advice",
                    &advice) < 0 ||
        !condition == !value)
        return error_set(err, -EINVAL, "%s: the check is damaged, or a newer phased wrote it",
                         name);
    *ret_check = (struct check){
        .name = xstrdup(name),
        .condition = xstrdup_or_null(condition),
        .value = xstrdup_or_null(value),
        .window = {.over_steps = over_steps,
                   .over_s = over_s,
                   .skip_steps = skip_steps,
                   .skip_s = skip_s},
        .warn = text_equal(otherwise, "warn"),
        .advice = xstrdup_or_null(advice),
    };
    for (size_t i = 0; i < CHECK_BOUNDS; i++) {
        ret_check->has_bound[i] = !isnan(bound[i]);
        ret_check->bound[i] = bound[i];
    }
    return 0;
}

void check_fini(struct check *check)
{
    free(check->name);
    free(check->condition);
    free(check->value);
    free(check->advice);
    *check = (struct check){0};
}

/* Evaluates the check, and refuses a result of the wrong type. */
static int check_run(const struct check *check, const struct expr_scope *scope,
                     struct expr_result *ret_result, struct error *err)
{
    const char *text = check->condition ? check->condition : check->value;
    int status = expr_evaluate(text, scope, ret_result, err);
    if (status < 0)
        return status;
    if (check->condition && ret_result->type != EXPR_BOOLEAN)
        status = error_set(err, -EINVAL, "the condition must be true or false, not %s",
                           ret_result->type == EXPR_NUMBER ? "a number" : "text");
    else if (check->value && ret_result->type != EXPR_NUMBER)
        status = error_set(err, -EINVAL, "the value must be a number, not %s",
                           ret_result->type == EXPR_STRING ? "text" : "true or false");
    if (status < 0)
        expr_result_fini(ret_result);
    return status;
}

/* Leaves out the windows, because the few made-up rows would not fill them. */
int check_try(const struct check *check, const struct expr_scope *scope, struct error *err)
{
    struct expr_scope tried = *scope;
    struct expr_result outcome;
    tried.invent_metrics = true;
    tried.window = (struct expr_window){0};
    tried.full_windows = false;
    int status = check_run(check, &tried, &outcome, err);
    if (status == 0)
        expr_result_fini(&outcome);
    else if (status == -ENODATA && err)
        err->code = -EINVAL;
    return status == -ENODATA ? -EINVAL : status;
}

/* Returns "at least 15 and below 20"; for a condition, its own text. */
static char *check_bounds_text(const struct check *check)
{
    struct text text = {0};
    if (check->condition)
        return xstrdup_or_null(check->condition);
    for (size_t i = 0; i < CHECK_BOUNDS; i++)
        if (check->has_bound[i])
            text_addf(&text, "%s%s %s", text.size ? " and " : "", bounds[i].words,
                      expr_number_text(check->bound[i]).data);
    return text_steal(&text);
}

/* The first bound that does not hold, or CHECK_BOUNDS. No bound holds for NaN. */
static enum check_bound check_broken_bound(const struct check *check, double value)
{
    for (enum check_bound which = 0; which < CHECK_BOUNDS; which++)
        if (check->has_bound[which] &&
            !comparison_holds(bounds[which].comparison, value, check->bound[which]))
            return which;
    return CHECK_BOUNDS;
}

/* Adds " (over the last 50 steps: 951..1000)". */
static void check_add_window(struct text *text, const struct expr_window *window,
                             const struct verdict *verdict)
{
    if (!verdict->has_window)
        return;
    text_add(text, " (");
    if (window->over_steps > 0)
        text_addf(text, "over the last %lld step%s: ", (long long)window->over_steps,
                  window->over_steps == 1 ? "" : "s");
    else if (window->over_s > 0)
        text_addf(text, "over the last %s s: steps ", expr_number_text(window->over_s).data);
    else
        text_add(text, "steps ");
    text_addf(text, "%lld..%lld)", (long long)verdict->first_step, (long long)verdict->last_step);
}

/* A condition that compared with NaN does not pass. It may be true because the comparison was false
 * (`not (loss > 5)`), and nobody wants a promotion for that reason. */
static void check_judge_condition(const struct expr_result *result, struct verdict *verdict,
                                  struct text *reason)
{
    bool holds = result->boolean && !result->nan_compared;
    verdict->outcome = holds ? CHECK_PASSED : CHECK_FAILED;
    text_addf(reason, "%s %s", verdict->name, holds ? "holds" : "does not hold");
    if (result->comparisons.size)
        text_addf(reason, ": %s", text_string(&result->comparisons));
    if (result->boolean && !holds)
        text_add(reason, ": a comparison with NaN never passes");
}

/* A value that is NaN does not pass, and neither does a number that came from a comparison with
 * NaN. */
static void check_judge_value(const struct check *check, const struct expr_result *result,
                              struct verdict *verdict, struct text *reason)
{
    struct expr_number value = expr_number_text(result->number);
    enum check_bound broken = check_broken_bound(check, result->number);
    verdict->has_value = true;
    verdict->value = result->number;
    verdict->outcome = CHECK_FAILED;
    text_addf(reason, "%s %s ", verdict->name, value.data);
    if (isnan(result->number)) {
        text_addf(reason, "is not %s", verdict->bounds);
    } else if (broken != CHECK_BOUNDS) {
        text_addf(reason, "%s %s", bounds[broken].broken,
                  expr_number_text(check->bound[broken]).data);
    } else if (result->nan_compared) {
        text_addf(reason, "comes from a comparison with NaN: %s",
                  text_string(&result->comparisons));
    } else {
        verdict->outcome = CHECK_PASSED;
        text_addf(reason, "is %s", verdict->bounds);
    }
}

void check_evaluate(const struct check *check, enum check_kind kind, const struct expr_scope *scope,
                    struct verdict *ret_verdict)
{
    struct expr_scope judged = *scope;
    struct expr_result result = {0};
    struct error error;
    struct text reason = {0};
    struct verdict verdict = {.name = xstrdup_or_null(check->name),
                              .warn = check->warn,
                              .bounds = check_bounds_text(check),
                              .advice = xstrdup_or_null(check->advice)};
    judged.window = check->window;
    judged.full_windows = kind == CHECK_GUARD;
    int status = check_run(check, &judged, &result, &error);
    verdict.work = result.work;
    if (status < 0) {
        verdict.outcome = status == -ENODATA ? CHECK_INSUFFICIENT : CHECK_ERROR;
        text_addf(&reason, "%s cannot be judged: %s", check->name, error.message);
    } else {
        verdict.has_window = result.rows > 0;
        verdict.first_step = result.first_step;
        verdict.last_step = result.last_step;
        verdict.rows = result.rows;
        if (check->condition)
            check_judge_condition(&result, &verdict, &reason);
        else
            check_judge_value(check, &result, &verdict, &reason);
        check_add_window(&reason, &check->window, &verdict);
        expr_result_fini(&result);
    }
    verdict.reason = text_steal(&reason);
    *ret_verdict = verdict;
}
