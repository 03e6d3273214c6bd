/* Verdicts: what they mean, and their JSON, which the daemon stores and shows. */
#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>

static const char *const outcome_names[] = {
    [CHECK_PASSED] = "passed",
    [CHECK_FAILED] = "failed",
    [CHECK_INSUFFICIENT] = "insufficient",
    [CHECK_ERROR] = "error",
};

enum { OUTCOMES = sizeof outcome_names / sizeof *outcome_names };

void verdict_fini(struct verdict *verdict)
{
    free(verdict->name);
    free(verdict->bounds);
    free(verdict->reason);
    free(verdict->advice);
    *verdict = (struct verdict){0};
}

bool verdict_is_failure(const struct verdict *verdict)
{
    return verdict->outcome != CHECK_PASSED && !verdict->warn;
}

const char *check_outcome_name(enum check_outcome outcome)
{
    return outcome_names[outcome];
}

int check_outcome_parse(const char *name)
{
    for (int i = 0; name && i < OUTCOMES; i++)
        if (text_equal(outcome_names[i], name))
            return i;
    return -1;
}

json_t *verdict_to_json(const struct verdict *verdict)
{
    json_t *window = json_null();
    if (verdict->has_window)
        window =
            json_pack("{s:I, s:I, s:I}", "first_step", (json_int_t)verdict->first_step, "last_step",
                      (json_int_t)verdict->last_step, "rows", (json_int_t)verdict->rows);
    json_t *json = json_pack(
        "{s:s, s:s, s:b, s:o, s:s, s:o, s:o, s:s?}", "name", verdict->name, "outcome",
        outcome_names[verdict->outcome], "warn", verdict->warn, "value",
        verdict->has_value ? json_double(verdict->value) : json_null(), "bounds", verdict->bounds,
        "window", window, "reason", json_string_of(verdict->reason), "advice", verdict->advice);
    if (!json)
        abort(); /* out of memory: the other texts came from JSON, so they are valid UTF-8 */
    return json;
}

static int verdict_read_value(const json_t *json, struct verdict *verdict, struct error *err)
{
    verdict->has_value = !json_is_null(json);
    verdict->value = 0;
    if (verdict->has_value && !json_double_read(json, &verdict->value))
        return error_set(err, -EINVAL, "value: neither a number nor nan, inf or -inf");
    return 0;
}

static int verdict_read_window(json_t *json, struct verdict *verdict, struct error *err)
{
    json_error_t where;
    json_int_t first_step, last_step, rows;
    if (json_is_null(json))
        return 0;
    if (json_unpack_ex(json, &where, 0, "{s:I, s:I, s:I}", "first_step", &first_step, "last_step",
                       &last_step, "rows", &rows) < 0)
        return error_set(err, -EINVAL, "window: %s", where.text);
    verdict->has_window = true;
    verdict->first_step = first_step;
    verdict->last_step = last_step;
    verdict->rows = (size_t)rows;
    return 0;
}

/* Ignores unknown members: a newer daemon may have written them. */
int verdict_from_json(const json_t *json, struct verdict *ret_verdict, struct error *err)
{
    struct verdict verdict = {0};
    const char *name, *outcome, *bounds, *reason;
    int warn, status;
    json_t *value, *window, *advice = NULL;
    json_error_t where;
    if (json_unpack_ex((json_t *)json, &where, 0, "{s:s, s:s, s:b, s:o, s:s, s:o, s:s, s?o}",
                       "name", &name, "outcome", &outcome, "warn", &warn, "value", &value, "bounds",
                       &bounds, "window", &window, "reason", &reason, "advice", &advice) < 0)
        return error_set(err, -EINVAL, "not a verdict: %s", where.text);
    int which = check_outcome_parse(outcome);
    if (which < 0)
        return error_set(err, -EINVAL, "not a verdict: no outcome is named %s", outcome);
    verdict.outcome = (enum check_outcome)which;
    verdict.warn = warn;
    status = verdict_read_value(value, &verdict, err);
    if (status == 0)
        status = verdict_read_window(window, &verdict, err);
    if (status < 0)
        return status;
    verdict.name = xstrdup(name);
    verdict.bounds = xstrdup(bounds);
    verdict.reason = xstrdup(reason);
    verdict.advice = json_is_string(advice) ? xstrdup(json_string_value(advice)) : NULL;
    *ret_verdict = verdict;
    return 0;
}
