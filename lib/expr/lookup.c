/* What a name means: to which phase it belongs, which rows of a metric lie in the window, and what
 * the message says if there are no rows. */
#include "lib/expr/lookup.h"

#include "lib/error.h"
#include "lib/expr/metrics.h"
#include "lib/expr/value.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>

/* Ten falling values, so that aggregates and logarithms have something to work on. */
static const struct metrics_row invented_rows[] = {
    {1, 1, 2.0}, {2, 2, 1.9}, {3, 3, 1.8}, {4, 4, 1.7}, {5, 5, 1.6},
    {6, 6, 1.5}, {7, 7, 1.4}, {8, 8, 1.3}, {9, 9, 1.2}, {10, 10, 1.1},
};

/* Subtracts steps without overflow: programs print them, so a step can be any number. */
static int64_t lookup_minus(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return b > 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

/* Takes a param or a fact. JSON integers have 64 bits, and a double has 53. A larger number, such
 * as a seed, is refused, because nobody would notice that it was rounded. */
static int lookup_json(struct evaluation *evaluation, const char *name, const json_t *json,
                       struct value *ret_value)
{
    json_int_t whole = json_integer_value(json);
    if (whole >= (1LL << 53) || whole <= -(1LL << 53))
        return error_set(evaluation->err, -EINVAL, "%s is too large to compute with: %lld", name,
                         (long long)whole);
    if (json_is_boolean(json))
        *ret_value = value_of_boolean(json_is_true(json));
    else if (json_is_string(json))
        *ret_value = (struct value){.type = VALUE_TEXT,
                                    .text = {json_string_value(json), json_string_length(json)}};
    else
        *ret_value = value_of_number(json_number_value(json));
    return 0;
}

/* How many rows at the front `skip` leaves out. */
static size_t lookup_skipped(const struct metrics_series *series, const struct expr_window *window,
                             int64_t begin_step)
{
    size_t skipped = 0;
    const struct metrics_row *rows = series->rows;
    /* Walks from the beginning and does not search, because times may go back where a run
     * resumed. */
    if (window->skip_steps > 0)
        while (skipped < series->count &&
               lookup_minus(rows[skipped].step, begin_step) <= window->skip_steps)
            skipped++;
    if (window->skip_s > 0)
        while (skipped < series->count && rows[skipped].time_s < window->skip_s)
            skipped++;
    return skipped;
}

/* Returns where `over` begins, not before `first`. Also says whether the rows from `first` reach
 * back over all of the window. */
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

/* Keeps for the report which rows were read. */
static void lookup_note(struct expr_result *result, bool is_own, const struct metrics_row *rows,
                        size_t count)
{
    int64_t first = rows[0].step, last = rows[count - 1].step;
    bool is_first = result->rows == 0 || (is_own && !result->has_own_rows);
    if (result->has_own_rows && !is_own)
        return;
    result->has_own_rows = is_own;
    result->first_step = is_first || first < result->first_step ? first : result->first_step;
    result->last_step = is_first || last > result->last_step ? last : result->last_step;
    result->rows = is_first || count < result->rows ? count : result->rows;
}

/* Takes the rows in the window, or says why there are no rows to judge. */
static int lookup_rows(struct evaluation *evaluation, const struct expr_name *name,
                       int64_t begin_step, struct metrics_series series, struct value *ret_value)
{
    const struct expr_window *window = &evaluation->scope->window;
    const char *dot = name->phase[0] ? "." : "";
    size_t first = lookup_skipped(&series, window, begin_step);
    if (first == series.count)
        return error_set(evaluation->err, -ENODATA, "%s%s%s has no rows after the skipped rows",
                         name->phase, dot, name->name);
    bool is_full;
    size_t begin = lookup_over(&series, window, first, &is_full);
    int status = evaluation_charge(evaluation, first + series.count - begin);
    if (status < 0)
        return status;
    if (evaluation->scope->full_windows && !is_full)
        return error_set(evaluation->err, -ENODATA, "%s%s%s does not fill its window yet",
                         name->phase, dot, name->name);
    series = (struct metrics_series){.rows = series.rows + begin, .count = series.count - begin};
    lookup_note(&evaluation->result, !name->phase[0], series.rows, series.count);
    *ret_value = (struct value){.type = VALUE_SERIES, .series = series};
    return 0;
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

/* Takes a metric, which is the last thing that a name can be. If there is no such metric, the name
 * is misspelt or the metric has not come yet. For the first case the message suggests a similar
 * name. */
static int lookup_metric(struct evaluation *evaluation, const struct expr_name *name,
                         struct metrics *metrics, int64_t begin_step, struct value *ret_value)
{
    struct metrics_series series = {0};
    if (metrics)
        series = metrics_find(metrics, name->name);
    if (series.count)
        return lookup_rows(evaluation, name, begin_step, series, ret_value);
    if (evaluation->scope->invent_metrics) {
        *ret_value =
            (struct value){.type = VALUE_SERIES,
                           .series = {invented_rows, sizeof invented_rows / sizeof *invented_rows}};
        return 0;
    }
    const char *nearest = lookup_suggest(metrics, name->name);
    return error_set(evaluation->err, -ENODATA, "%s%s%s never came%s%s%s", name->phase,
                     name->phase[0] ? "." : "", name->name, nearest ? " (did you mean " : "",
                     nearest ? nearest : "", nearest ? "?)" : "");
}

int lookup_name(struct evaluation *evaluation, const struct expr_name *name,
                struct value *ret_value)
{
    const struct expr_scope *scope = evaluation->scope;
    const struct expr_names *names = &scope->own;
    if (name->phase[0]) {
        size_t i = 0;
        while (i < scope->before_count && !text_equal(scope->before[i].phase, name->phase))
            i++;
        if (i == scope->before_count)
            return error_set(evaluation->err, -ENODATA, "no phase before this one is called %s",
                             name->phase);
        names = &scope->before[i];
    }
    const json_t *json = json_object_get(names->params, name->name);
    if (!json_is_number(json) && !json_is_boolean(json) && !json_is_string(json))
        json = json_object_get(names->facts, name->name);
    if (json_is_number(json) || json_is_boolean(json) || json_is_string(json))
        return lookup_json(evaluation, name->name, json, ret_value);
    return lookup_metric(evaluation, name, names->metrics, name->phase[0] ? 0 : scope->begin_step,
                         ret_value);
}
