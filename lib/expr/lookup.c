/* Names: whose they are, which rows of a metric lie in the window, and what to say when there are
 * none. */
#include "lib/expr/lookup.h"

#include "lib/expr/metrics.h"
#include "lib/expr/sandbox.h"
#include "lib/expr/series.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>

/* Steps come from what programs print and may be anything. */
static int64_t lookup_minus(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return b > 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

/* A param or a fact. JSON integers are 64 bits wide, of which a double holds 53; rather than to
 * round a seed in silence it is refused. */
static bool lookup_push_json(lua_State *lua, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_real(value)) {
        lua_pushnumber(lua, json_real_value(value));
    } else if (json_is_integer(value)) {
        json_int_t whole = json_integer_value(value);
        if (whole > (1LL << 53) || whole < -(1LL << 53))
            sandbox_raise(lua, -EINVAL, "%s is too large to compute with: %lld", name,
                          (long long)whole);
        lua_pushnumber(lua, (double)whole);
    } else if (json_is_boolean(value)) {
        lua_pushboolean(lua, json_is_true(value));
    } else if (json_is_string(value)) {
        lua_pushstring(lua, json_string_value(value));
    } else {
        return false;
    }
    return true;
}

/* How many rows at the front `skip` leaves out. */
static size_t lookup_skipped(const struct metrics_series *series, const struct expr_window *window,
                             int64_t begin_step)
{
    size_t skipped = 0;
    const struct metrics_row *rows = series->rows;
    /* From the beginning rather than by search: times need not ascend where a run was resumed. */
    if (window->skip_steps > 0)
        while (skipped < series->count &&
               lookup_minus(rows[skipped].step, begin_step) <= window->skip_steps)
            skipped++;
    if (window->skip_s > 0)
        while (skipped < series->count && rows[skipped].time_s < window->skip_s)
            skipped++;
    return skipped;
}

/* Where `over` begins, not before `first`; and whether the rows from `first` on reach back over all
 * of it. */
static size_t lookup_over(const struct metrics_series *series, const struct expr_window *window,
                          size_t first, bool *ret_full)
{
    const struct metrics_row *rows = series->rows, *newest = &rows[series->count - 1];
    size_t begin = first;
    *ret_full = true;
    if (window->over_steps > 0) {
        int64_t before = lookup_minus(newest->step, window->over_steps);
        for (begin = series->count - 1; begin > first && rows[begin - 1].step > before; begin--)
            ;
        *ret_full = rows[first].step <= before || rows[first].step - 1 == before;
    } else if (window->over_s > 0) {
        double before = newest->time_s - window->over_s;
        for (begin = series->count - 1; begin > first && rows[begin - 1].time_s > before; begin--)
            ;
        *ret_full = rows[first].time_s <= before;
    }
    return begin;
}

/* Keeps for the report what was read. */
static void lookup_note(struct expr_result *result, const struct metrics_row *rows, size_t count)
{
    int64_t first = rows[0].step, last = rows[count - 1].step;
    bool is_first = result->rows == 0;
    result->first_step = is_first || first < result->first_step ? first : result->first_step;
    result->last_step = is_first || last > result->last_step ? last : result->last_step;
    result->rows = is_first || count < result->rows ? count : result->rows;
}

/* Pushes the rows in the window, or says why there is nothing to judge. */
static void lookup_push_rows(lua_State *lua, const struct expr_name *name, int64_t begin_step,
                             struct metrics_series series)
{
    struct sandbox *sandbox = sandbox_of(lua);
    const struct expr_window *window = &sandbox->scope->window;
    const char *dot = name->phase[0] ? "." : "";
    size_t first = lookup_skipped(&series, window, begin_step);
    if (first == series.count)
        sandbox_raise(lua, -ENODATA, "%s%s%s has no rows after those that are skipped", name->phase,
                      dot, name->name);
    bool is_full;
    size_t begin = lookup_over(&series, window, first, &is_full);
    sandbox_charge(lua, first + series.count - begin);
    if (sandbox->scope->full_windows && !is_full)
        sandbox_raise(lua, -ENODATA, "%s%s%s does not fill its window yet", name->phase, dot,
                      name->name);
    lookup_note(&sandbox->result, series.rows + begin, series.count - begin);
    series_push(lua, series.rows + begin, series.count - begin);
}

/* Ten falling values, so that aggregates and logarithms have something to work on. */
static void lookup_push_invented(lua_State *lua)
{
    enum { ROWS = 10 };
    struct metrics_row *rows = series_push_new(lua, ROWS);
    for (int i = 0; i < ROWS; i++)
        rows[i] = (struct metrics_row){.step = i + 1, .time_s = i + 1, .value = 2.0 - 0.1 * i};
}

static const char *lookup_suggest(struct metrics *metrics, const char *name)
{
    size_t count = metrics ? metrics_name_count(metrics) : 0;
    const char **names = xcalloc(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = metrics_name(metrics, i);
    const char *nearest = text_nearest(name, names, count);
    free(names);
    return nearest;
}

/* A metric, the last thing that a name can be. Whether it was misspelt or has not come yet cannot
 * be known here; a near name is offered for the first. */
static void lookup_push_metric(lua_State *lua, const struct expr_name *name,
                               struct metrics *metrics, int64_t begin_step)
{
    struct metrics_series series = {0};
    if (metrics)
        series = metrics_find(metrics, name->name);
    if (series.count) {
        lookup_push_rows(lua, name, begin_step, series);
        return;
    }
    if (sandbox_of(lua)->scope->invent_metrics) {
        lookup_push_invented(lua);
        return;
    }
    const char *nearest = lookup_suggest(metrics, name->name);
    sandbox_raise(lua, -ENODATA, "%s%s%s never came%s%s%s", name->phase, name->phase[0] ? "." : "",
                  name->name, nearest ? " (did you mean " : "", nearest ? nearest : "",
                  nearest ? "?)" : "");
}

void lookup_push(lua_State *lua, const struct expr_name *name)
{
    const struct expr_scope *scope = sandbox_of(lua)->scope;
    const struct expr_names *names = &scope->own;
    if (name->phase[0]) {
        size_t i = 0;
        while (i < scope->before_count && !text_equal(scope->before[i].phase, name->phase))
            i++;
        if (i == scope->before_count)
            sandbox_raise(lua, -ENODATA, "%s is no phase before this one", name->phase);
        names = &scope->before[i];
    }
    if (lookup_push_json(lua, names->params, name->name) ||
        lookup_push_json(lua, names->facts, name->name))
        return;
    lookup_push_metric(lua, name, names->metrics, name->phase[0] ? 0 : scope->begin_step);
}
