/* The series of a run, side by side over their steps. */
#include "daemon/store/answers.h"
#include "daemon/store/store_private.h"
#include "lib/json_double.h"
#include "lib/memory.h"

#include <stdlib.h>

struct metrics_cell {
    int64_t step;
    size_t series;
    double value;
};

struct metrics_cells {
    struct metrics_cell *items;
    size_t count, capacity;
};

static void metrics_add_cell(struct metrics_cells *cells, struct metrics_cell cell)
{
    if (cells->count == cells->capacity) {
        cells->capacity = cells->capacity ? 2 * cells->capacity : 256;
        cells->items = xrealloc(cells->items, cells->capacity * sizeof *cells->items);
    }
    cells->items[cells->count++] = cell;
}

static int metrics_compare_cells(const void *a, const void *b)
{
    const struct metrics_cell *x = a, *y = b;
    return (x->step > y->step) - (x->step < y->step);
}

/* The newest `last` steps of the union are among the newest `last` rows of each series. */
static int metrics_read_series(struct store *store, uint64_t run, const char *name, size_t series,
                               unsigned last, struct metrics_cells *cells, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_METRIC_TAIL);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":name", name);
    stmt_bind_int(stmt, ":last", last ? (int64_t)last : -1);
    while ((result = stmt_step(stmt, err)) > 0) {
        struct metrics_cell cell = {
            .step = stmt_int(stmt, "step"), .series = series, .value = stmt_real(stmt, "value")};
        metrics_add_cell(cells, cell);
    }
    return result;
}

/* Where the newest `last` steps begin among the sorted cells. */
static size_t metrics_begin(const struct metrics_cells *cells, unsigned last)
{
    size_t begin = cells->count;
    for (unsigned steps = 0; begin > 0; begin--) {
        bool is_new =
            begin == cells->count || cells->items[begin - 1].step != cells->items[begin].step;
        if (is_new && last && steps++ == last)
            break;
    }
    return begin;
}

/* Puts the sorted cells into columns: the steps, and for each series a list as long. */
static json_t *metrics_columns(const struct metrics_cells *cells, const json_t *names,
                               unsigned last)
{
    json_t *steps = json_array(), *series = json_object();
    for (size_t i = 0; i < json_array_size(names); i++)
        json_object_set_new(series, json_string_value(json_array_get(names, i)), json_array());
    for (size_t i = metrics_begin(cells, last); i < cells->count;) {
        int64_t step = cells->items[i].step;
        json_array_append_new(steps, json_integer(step));
        const char *name;
        json_t *column;
        json_object_foreach(series, name, column) json_array_append_new(column, json_null());
        for (; i < cells->count && cells->items[i].step == step; i++) {
            const json_t *key = json_array_get(names, cells->items[i].series);
            column = json_object_get(series, json_string_value(key));
            json_array_set_new(column, json_array_size(column) - 1,
                               json_double(cells->items[i].value));
        }
    }
    return json_pack("{s:o, s:o}", "steps", steps, "series", series);
}

static int metrics_list_names(struct store *store, uint64_t run, json_t *names, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_METRICS_NEWEST);
    stmt_bind_id(stmt, ":run", run);
    while ((result = stmt_step(stmt, err)) > 0)
        json_array_append_new(names, json_string(stmt_text(stmt, "name")));
    return result;
}

int answer_metrics(struct store *store, uint64_t run, const char *const *names, size_t name_count,
                   unsigned last, json_t **ret_json, struct error *err)
{
    int result = 0;
    struct metrics_cells cells = {0};
    json_t *list = json_array();
    for (size_t i = 0; i < name_count; i++)
        json_array_append_new(list, json_string(names[i]));
    if (name_count == 0)
        result = metrics_list_names(store, run, list, err);
    for (size_t i = 0; result == 0 && i < json_array_size(list); i++)
        result = metrics_read_series(store, run, json_string_value(json_array_get(list, i)), i,
                                     last, &cells, err);
    if (result == 0) {
        if (cells.count > 0)
            qsort(cells.items, cells.count, sizeof *cells.items, metrics_compare_cells);
        *ret_json = metrics_columns(&cells, list, last);
    }
    free(cells.items);
    json_decref(list);
    return result;
}
