/* Series side by side over their steps. */
#include "lib/metrics/columns.h"

#include "lib/expr/metrics.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct columns_series {
    struct metrics_series series;
    size_t at; /* the row to take next */
    json_t *column;
};

/* Moves back to where the newest `last` steps begin; 0: all steps. */
static void columns_begin(struct columns_series *series, size_t count, unsigned last)
{
    for (size_t i = 0; i < count; i++)
        series[i].at = last ? series[i].series.count : 0;
    for (unsigned steps = 0; steps < last; steps++) {
        int64_t newest = INT64_MIN; /* no row is left */
        for (size_t i = 0; i < count; i++)
            if (series[i].at && series[i].series.rows[series[i].at - 1].step > newest)
                newest = series[i].series.rows[series[i].at - 1].step;
        if (newest == INT64_MIN)
            return;
        for (size_t i = 0; i < count; i++)
            if (series[i].at && series[i].series.rows[series[i].at - 1].step == newest)
                series[i].at--;
    }
}

/* Adds the next step and its values. Returns false after the last step. */
static bool columns_add_step(struct columns_series *series, size_t count, json_t *steps,
                             json_t *times)
{
    int64_t step = INT64_MAX;
    double time_s = INFINITY;
    for (size_t i = 0; i < count; i++)
        if (series[i].at < series[i].series.count &&
            series[i].series.rows[series[i].at].step < step)
            step = series[i].series.rows[series[i].at].step;
    if (step == INT64_MAX)
        return false;
    (void)json_array_append_new(steps, json_integer(step)); /* these fail only without memory */
    for (size_t i = 0; i < count; i++) {
        const struct metrics_row *row = &series[i].series.rows[series[i].at];
        bool has = series[i].at < series[i].series.count && row->step == step;
        (void)json_array_append_new(series[i].column, has ? json_double(row->value) : json_null());
        time_s = has ? fmin(time_s, row->time_s) : time_s;
        series[i].at += has;
    }
    (void)json_array_append_new(times, json_real(time_s));
    return true;
}

json_t *columns_json(struct metrics *metrics, const char *const *names, size_t count, unsigned last)
{
    size_t wanted = count ? count : metrics_name_count(metrics), found = 0;
    struct columns_series *series = xcalloc(wanted + 1, sizeof *series);
    json_t *steps = json_array(), *times = json_array(), *columns = json_object();
    for (size_t i = 0; i < wanted; i++) {
        const char *name = count ? names[i] : metrics_name(metrics, i);
        if (json_object_get(columns, name))
            continue; /* the name is given twice */
        json_t *column = json_array();
        if (json_object_set_new(columns, name, column) < 0)
            continue; /* the name is not UTF-8, so JSON cannot have it */
        series[found++] =
            (struct columns_series){.series = metrics_find(metrics, name), .column = column};
    }
    columns_begin(series, found, last);
    while (columns_add_step(series, found, steps, times))
        continue;
    free(series);
    return json_pack("{s:o, s:o, s:o}", "steps", steps, "times", times, "series", columns);
}

void columns_add(const json_t *columns, int64_t limit, struct metrics *metrics)
{
    const json_t *steps = json_object_get(columns, "steps"), *value;
    const json_t *times = json_object_get(columns, "times");
    const char *name;
    json_t *series;
    size_t row;
    double number;
    json_object_foreach(json_object_get(columns, "series"), name, series)
    {
        json_array_foreach(series, row, value)
        {
            int64_t step = json_integer_value(json_array_get(steps, row));
            if (step <= limit && json_double_read(value, &number))
                metrics_add(metrics, name, step, json_number_value(json_array_get(times, row)),
                            number);
        }
    }
}
