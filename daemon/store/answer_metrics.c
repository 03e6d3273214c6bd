/* The series of a run, side by side over their steps. */
#include "daemon/store/answers.h"
#include "daemon/store/store_private.h"
#include "lib/expr/metrics.h"
#include "lib/metrics/columns.h"

#include <math.h>

/* The newest `last` steps of all series are among the newest `last` rows of each series. */
static int metrics_read_series(struct store *store, uint64_t run, const char *name,
                               const struct answer_range *range, struct metrics *metrics,
                               struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_METRIC_TAIL);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":name", name);
    stmt_bind_int(stmt, ":from", range->from);
    stmt_bind_int(stmt, ":to", range->to);
    stmt_bind_int(stmt, ":last", range->last ? (int64_t)range->last : -1);
    while ((status = stmt_step(stmt, err)) > 0)
        metrics_add(metrics, name, stmt_int(stmt, "step"), (double)stmt_int(stmt, "time") / 1000.0,
                    stmt_real(stmt, "value"));
    return status;
}

/* The lowest and the highest row of one part of a series, and its first row that is NaN. */
struct extremes {
    struct metrics_row low, high, nan;
    bool has_number, has_nan;
};

static void extremes_take(struct extremes *part, const struct metrics_row *row)
{
    if (isnan(row->value)) {
        if (!part->has_nan)
            part->nan = *row;
        part->has_nan = true;
        return;
    }
    if (!part->has_number || row->value < part->low.value)
        part->low = *row;
    if (!part->has_number || row->value > part->high.value)
        part->high = *row;
    part->has_number = true;
}

static void metrics_add_row(struct metrics *metrics, const char *name,
                            const struct metrics_row *row)
{
    metrics_add(metrics, name, row->step, row->time_s, row->value);
}

/* Adds what the part has, and empties the part. */
static void extremes_end(struct extremes *part, const char *name, struct metrics *metrics)
{
    if (part->has_number) {
        metrics_add_row(metrics, name, &part->low);
        metrics_add_row(metrics, name, &part->high);
    }
    if (part->has_nan)
        metrics_add_row(metrics, name, &part->nan);
    *part = (struct extremes){0};
}

/* The steps of a series within a range, and the key of its name. */
struct span {
    uint64_t name;
    int64_t first, last;
};

/* Returns 0 if the range has no rows. */
static int metrics_read_span(struct store *store, uint64_t run, const char *name,
                             const struct answer_range *range, struct span *ret_span,
                             struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_METRIC_SPAN);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":name", name);
    stmt_bind_int(stmt, ":from", range->from);
    stmt_bind_int(stmt, ":to", range->to);
    int status = stmt_step(stmt, err);
    if (status <= 0)
        return status;
    bool is_empty = stmt_is_null(stmt, "first");
    *ret_span = (struct span){.name = stmt_id(stmt, "name"),
                              .first = stmt_int(stmt, "first"),
                              .last = stmt_int(stmt, "last")};
    stmt_reset(stmt);
    return !is_empty;
}

/* Divides the series into parts. Adds the lowest row, the highest row and a NaN row of each part,
 * and the first and the last row of the series. At most `rows` rows are read. If there are more,
 * `ret_next` becomes the step of the next row, unless it is an earlier step already. */
static int metrics_read_extremes(struct store *store, uint64_t run, const char *name,
                                 const struct answer_range *range, unsigned rows,
                                 struct metrics *metrics, int64_t *ret_next, struct error *err)
{
    struct span span;
    int status = metrics_read_span(store, run, name, range, &span, err);
    if (status <= 0)
        return status;
    int64_t first = span.first, last = span.last;
    uint64_t width = ((uint64_t)last - (uint64_t)first) / range->buckets + 1, at = 0;
    struct extremes part = {0};
    unsigned count = 0;
    struct stmt *stmt = store_stmt(store, Q_METRIC_PART);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_id(stmt, ":name", span.name);
    stmt_bind_int(stmt, ":from", first);
    stmt_bind_int(stmt, ":to", last);
    stmt_bind_int(stmt, ":rows", (int64_t)rows + 1);
    while ((status = stmt_step(stmt, err)) > 0) {
        const struct metrics_row row = {.step = stmt_int(stmt, "step"),
                                        .value = stmt_real(stmt, "value"),
                                        .time_s = (double)stmt_int(stmt, "time") / 1000.0};
        if (count++ == rows) {
            *ret_next = row.step < *ret_next ? row.step : *ret_next;
            continue; /* it is the last row of the query */
        }
        uint64_t number = ((uint64_t)row.step - (uint64_t)first) / width;
        if (number != at)
            extremes_end(&part, name, metrics);
        at = number;
        extremes_take(&part, &row);
        if (row.step == first || row.step == last)
            metrics_add_row(metrics, name, &row);
    }
    extremes_end(&part, name, metrics);
    return status;
}

static int metrics_list_names(struct store *store, uint64_t run, json_t *names, struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_METRICS_NEWEST);
    stmt_bind_id(stmt, ":run", run);
    while ((status = stmt_step(stmt, err)) > 0)
        json_array_append_new(names, json_string(stmt_text(stmt, "name")));
    return status;
}

int answer_metrics(struct store *store, uint64_t run, const char *const *names, size_t name_count,
                   const struct answer_range *range, json_t **ret_json, struct error *err)
{
    int status = 0;
    int64_t next = INT64_MAX;
    struct metrics *metrics = metrics_new();
    json_t *list = json_array();
    for (size_t i = 0; i < name_count; i++)
        json_array_append_new(list, json_string(names[i]));
    if (name_count == 0)
        status = metrics_list_names(store, run, list, err);
    for (size_t i = 0; status == 0 && i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        unsigned rows = range->rows / (unsigned)json_array_size(list) + 1;
        status = range->buckets
                     ? metrics_read_extremes(store, run, name, range, rows, metrics, &next, err)
                     : metrics_read_series(store, run, name, range, metrics, err);
    }
    if (status == 0)
        *ret_json = columns_json(metrics, names, name_count, range->last);
    if (status == 0 && next < INT64_MAX)
        (void)json_object_set_new(*ret_json, "next", json_integer(next));
    metrics_free(metrics);
    json_decref(list);
    return status;
}
