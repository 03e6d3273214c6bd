/* The series of a run, side by side over their steps. */
#include "daemon/store/answers.h"
#include "daemon/store/store_private.h"
#include "lib/expr/metrics.h"
#include "lib/metrics/columns.h"

#include <stdlib.h>

/* The newest `last` steps of all series are among the newest `last` rows of each series. */
static int metrics_read_series(struct store *store, uint64_t run, const char *name, unsigned last,
                               struct metrics *metrics, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_METRIC_TAIL);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":name", name);
    stmt_bind_int(stmt, ":last", last ? (int64_t)last : -1);
    while ((result = stmt_step(stmt, err)) > 0)
        metrics_add(metrics, name, stmt_int(stmt, "step"), 0, stmt_real(stmt, "value"));
    return result;
}

/* The lowest and the highest row, and one that is NaN, of each of so many parts of the series. */
static int metrics_read_extremes(struct store *store, uint64_t run, const char *name,
                                 unsigned buckets, struct metrics *metrics, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_METRIC_EXTREMES);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":name", name);
    stmt_bind_int(stmt, ":buckets", (int64_t)buckets);
    while ((result = stmt_step(stmt, err)) > 0)
        metrics_add(metrics, name, stmt_int(stmt, "step"), 0, stmt_real(stmt, "value"));
    return result;
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
                   unsigned last, unsigned buckets, json_t **ret_json, struct error *err)
{
    int result = 0;
    struct metrics *metrics = metrics_new();
    json_t *list = json_array();
    for (size_t i = 0; i < name_count; i++)
        json_array_append_new(list, json_string(names[i]));
    if (name_count == 0)
        result = metrics_list_names(store, run, list, err);
    for (size_t i = 0; result == 0 && i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        result = buckets ? metrics_read_extremes(store, run, name, buckets, metrics, err)
                         : metrics_read_series(store, run, name, last, metrics, err);
    }
    if (result == 0)
        *ret_json = columns_json(metrics, names, name_count, last);
    metrics_free(metrics);
    json_decref(list);
    return result;
}
