/* Watching metrics. */
#include "worker/guards.h"

#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/expr/metrics.h"
#include "lib/text.h"
#include "worker/metrics/extract.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct guard {
    struct check check;
    bool has_failed; /* at the last look */
};

struct guards {
    struct guard *list;
    size_t count;
    char **names; /* of the metrics that guards use */
    size_t name_count;
    struct metrics *metrics;
    const json_t *params;
    int64_t begin_step, step;
    bool nan_ok, has_news;
    char *nan; /* what was not finite, once it came */
};

static bool guards_uses(const struct guards *guards, const char *name)
{
    for (size_t i = 0; i < guards->name_count; i++)
        if (text_equal(guards->names[i], name))
            return true;
    return false;
}

static int guards_note_names(struct guards *guards, const char *expression, struct error *err)
{
    struct expr_name *names;
    int count = expression ? expr_list_names(expression, &names, err) : 0;
    if (count <= 0)
        return count;
    guards->names = realloc(guards->names, (guards->name_count + (size_t)count) * sizeof(char *));
    if (!guards->names)
        abort();
    for (int i = 0; i < count; i++)
        if (!names[i].phase[0] && !guards_uses(guards, names[i].name))
            guards->names[guards->name_count++] = text_format("%s", names[i].name);
    free(names);
    return 0;
}

static int guards_read(struct guards *guards, const json_t *list, struct error *err)
{
    const char *name;
    json_t *json;
    guards->list = calloc(json_object_size(list) + 1, sizeof(*guards->list));
    if (!guards->list)
        abort();
    json_object_foreach((json_t *)list, name, json)
    {
        struct check *check = &guards->list[guards->count].check;
        int result = check_from_json(name, json, check, err);
        if (result < 0)
            return result;
        guards->count++;
        if ((result = guards_note_names(guards, check->condition, err)) < 0 ||
            (result = guards_note_names(guards, check->value, err)) < 0)
            return result;
    }
    return 0;
}

int guards_new(const json_t *spec, int64_t begin_step, struct guards **ret_guards,
               struct error *err)
{
    struct guards *guards = calloc(1, sizeof(*guards));
    if (!guards)
        abort();
    guards->metrics = metrics_new();
    guards->params = json_object_get(spec, "params");
    guards->nan_ok = json_is_true(json_object_get(spec, "nan_ok"));
    guards->begin_step = guards->step = begin_step;
    int result = guards_read(guards, json_object_get(spec, "guards"), err);
    if (result < 0) {
        error_prefix(err, "guards");
        guards_free(guards);
        return result;
    }
    *ret_guards = guards;
    return 0;
}

void guards_free(struct guards *guards)
{
    if (!guards)
        return;
    for (size_t i = 0; i < guards->count; i++)
        check_fini(&guards->list[i].check);
    for (size_t i = 0; i < guards->name_count; i++)
        free(guards->names[i]);
    free(guards->list);
    free(guards->names);
    metrics_free(guards->metrics);
    free(guards->nan);
    free(guards);
}

void guards_add(struct guards *guards, int64_t step, double time_s,
                const struct extract_value *value)
{
    if (step > guards->step)
        guards->step = step;
    if (!isfinite(value->value) && !guards->nan_ok && !guards->nan && strstr(value->name, "loss"))
        guards->nan = text_format("%s is %s at step %lld", value->name,
                                  isnan(value->value) ? "nan" : "infinite", (long long)step);
    guards->has_news = true;
    if (guards_uses(guards, value->name))
        metrics_add(guards->metrics, value->name, step, time_s, value->value);
}

/* Evaluates one guard. Returns true when it stops the run. */
static bool guard_judge(struct guard *guard, const struct expr_scope *scope, guards_verdict *told,
                        void *context, json_t **ret_verdict, char **ret_message)
{
    struct verdict verdict;
    check_evaluate(&guard->check, CHECK_GUARD, scope, &verdict);
    /* Too little data is no failure of a guard: the run has just begun. */
    bool fails = verdict.outcome == CHECK_FAILED || verdict.outcome == CHECK_ERROR;
    bool stops = fails && verdict_is_failure(&verdict);
    bool is_new = fails && !guard->has_failed;
    guard->has_failed = fails;
    if (is_new) {
        json_t *json = verdict_to_json(&verdict);
        told(context, json);
        if (stops) {
            *ret_message = text_format("guard failed: %s", verdict.reason);
            *ret_verdict = json_incref(json);
        }
        json_decref(json);
    }
    verdict_fini(&verdict);
    return stops && is_new;
}

enum guards_judgement guards_judge(struct guards *guards, double elapsed_s, guards_verdict *told,
                                   void *context, json_t **ret_verdict, char **ret_message)
{
    bool stops = false;
    if (!guards->has_news)
        return GUARDS_FINE;
    guards->has_news = false;
    if (guards->nan) {
        *ret_verdict = NULL;
        *ret_message = guards->nan;
        guards->nan = NULL;
        guards->nan_ok = true; /* it was told */
        return GUARDS_NAN;
    }
    json_t *facts = json_pack("{s:f, s:I}", "elapsed", elapsed_s, "step", (json_int_t)guards->step);
    struct expr_scope scope = {
        .own = {.params = guards->params, .facts = facts, .metrics = guards->metrics},
        .begin_step = guards->begin_step,
        .full_windows = true,
    };
    for (size_t i = 0; i < guards->count && !stops; i++)
        stops = guard_judge(&guards->list[i], &scope, told, context, ret_verdict, ret_message);
    json_decref(facts);
    return stops ? GUARDS_FAILED : GUARDS_FINE;
}
