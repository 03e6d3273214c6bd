/* Series by name: arrays of rows, sorted when somebody reads.
 *
 * Rows almost always come in order and are appended. A row out of order makes its series unsorted.
 * The next read sorts the series. It is also sorted when half is unsorted, so that repeated
 * steps cannot make it grow without bound. */
#include "lib/expr/metrics.h"

#include "lib/memory.h"

#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct series {
    char *name;
    struct metrics_row *rows;
    size_t count, capacity;
    size_t sorted;   /* this many rows at the front are sorted, with each step once */
    bool is_sampled; /* a series of samples: a step may come several times */
};

struct metrics {
    struct series *series;
    size_t count, capacity;
    json_t *numbers; /* from the name of a series to its number */
};

/* Keeps the number of the series and no pointer: the array of series moves when it grows. */
static struct series *metrics_make_series(struct metrics *metrics, const char *name)
{
    if (metrics->count == metrics->capacity) {
        metrics->capacity = metrics->capacity ? 2 * metrics->capacity : 16;
        metrics->series =
            xreallocarray(metrics->series, metrics->capacity, sizeof *metrics->series);
    }
    json_object_set_new_nocheck(metrics->numbers, name, json_integer((json_int_t)metrics->count));
    struct series *series = &metrics->series[metrics->count++];
    *series = (struct series){.name = xstrdup(name)};
    return series;
}

/* Returns NULL if there is no series with this name. */
static struct series *metrics_find_series(const struct metrics *metrics, const char *name)
{
    const json_t *number = json_object_get(metrics->numbers, name);
    return number ? &metrics->series[json_integer_value(number)] : NULL;
}

/* Sorts without changing the order of equal steps, because the last row of a step must stay last.
 * qsort() does not promise that. */
static void rows_sort(struct metrics_row *rows, struct metrics_row *scratch, size_t count)
{
    if (count < 2)
        return;
    size_t half = count / 2;
    rows_sort(rows, scratch, half);
    rows_sort(rows + half, scratch, count - half);
    memcpy(scratch, rows, half * sizeof *rows);
    for (size_t a = 0, b = half, to = 0; a < half; to++) {
        if (b < count && rows[b].step < scratch[a].step)
            rows[to] = rows[b++];
        else
            rows[to] = scratch[a++];
    }
}

/* Merges the unsorted tail into the sorted front. Only the last row of each step stays. */
static void series_sort(struct series *series)
{
    size_t front_count = series->sorted, tail_count = series->count - series->sorted;
    if (!tail_count)
        return;
    struct metrics_row *front = series->rows, *tail = front + front_count;
    struct metrics_row *merged = xmalloc(series->count * sizeof *merged);
    rows_sort(tail, merged, tail_count);
    size_t f = 0, t = 0, count = 0;
    while (f < front_count || t < tail_count) {
        bool from_tail = f == front_count || (t < tail_count && tail[t].step <= front[f].step);
        if (series->is_sampled && f < front_count && t < tail_count)
            from_tail = tail[t].step < front[f].step;
        struct metrics_row row = from_tail ? tail[t++] : front[f++];
        if (!series->is_sampled && count && merged[count - 1].step == row.step) {
            if (from_tail)
                merged[count - 1] = row;
            continue;
        }
        merged[count++] = row;
    }
    free(series->rows);
    series->rows = merged;
    series->capacity = series->count;
    series->count = series->sorted = count;
}

/* Returns the sorted row with this step, or NULL. */
static struct metrics_row *series_row(struct series *series, int64_t step)
{
    size_t low = 0, high = series->sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (series->rows[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < series->sorted && series->rows[low].step == step)
        return &series->rows[low];
    return NULL;
}

/* Appends the row. If that needs more memory and most of the series is unsorted, it is sorted
 * first: repeated steps become one row, and the memory may then suffice. */
static void series_append(struct series *series, struct metrics_row row)
{
    if (series->count == series->capacity && series->count - series->sorted > series->sorted)
        series_sort(series);
    if (series->count == series->capacity) {
        series->capacity = series->capacity ? 2 * series->capacity : 16;
        series->rows = xreallocarray(series->rows, series->capacity, sizeof *series->rows);
    }
    series->rows[series->count++] = row;
}

struct metrics *metrics_new(void)
{
    struct metrics *metrics = xcalloc(1, sizeof *metrics);
    metrics->numbers = json_object();
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < metrics->count; i++) {
        free(metrics->series[i].name);
        free(metrics->series[i].rows);
    }
    free(metrics->series);
    json_decref(metrics->numbers);
    free(metrics);
}

static struct series *metrics_series_of(struct metrics *metrics, const char *name)
{
    struct series *series = metrics_find_series(metrics, name);
    return series ? series : metrics_make_series(metrics, name);
}

void metrics_add_name(struct metrics *metrics, const char *name)
{
    (void)metrics_series_of(metrics, name);
}

void metrics_add_sample(struct metrics *metrics, const char *name, int64_t step, double time_s,
                        double value)
{
    struct metrics_row row = {.step = step, .time_s = time_s, .value = value};
    struct series *series = metrics_series_of(metrics, name);
    bool in_order = series->sorted == series->count &&
                    (!series->count || series->rows[series->count - 1].step <= step);
    series->is_sampled = true;
    series_append(series, row);
    series->sorted += in_order;
}

void metrics_add(struct metrics *metrics, const char *name, int64_t step, double time_s,
                 double value)
{
    struct metrics_row row = {.step = step, .time_s = time_s, .value = value};
    struct series *series = metrics_series_of(metrics, name);
    bool in_order = series->sorted == series->count &&
                    (!series->count || series->rows[series->count - 1].step < step);
    if (in_order) {
        series_append(series, row);
        series->sorted++;
        return;
    }
    /* An unsorted tail may have the step too. Then the row can only be appended. */
    struct metrics_row *same = series->sorted == series->count ? series_row(series, step) : NULL;
    if (same)
        *same = row;
    else
        series_append(series, row);
}

struct metrics_series metrics_find(struct metrics *metrics, const char *name)
{
    struct series *series = metrics_find_series(metrics, name);
    if (!series)
        return (struct metrics_series){0};
    series_sort(series);
    return (struct metrics_series){.rows = series->rows, .count = series->count};
}

size_t metrics_name_count(const struct metrics *metrics)
{
    return metrics->count;
}

const char *metrics_name(const struct metrics *metrics, size_t i)
{
    assert(i < metrics->count);
    return metrics->series[i].name;
}
