/* The queries. They hold no lock for long, because the daemon may start at the same time. */
#include "cli/reader/record.h"

#include "lib/address.h"
#include "lib/error.h"
#include "lib/expr/metrics.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { RECORD_WAIT_MS = 5000 }; /* for a daemon that starts or stops in this moment */

static const char record_metrics[] =
    "SELECT metric_name.name AS name, metric.step AS step, metric.value AS value,"
    " metric.time AS time FROM phase"
    " JOIN run ON run.phase = phase.id JOIN metric ON metric.run = run.id"
    " JOIN metric_name ON metric_name.id = metric.name"
    " WHERE phase.workflow = ?1 AND phase.name = ?2 AND run.attempt = ?3";

static const char record_history[] =
    "SELECT workflow.name AS workflow, phase.name AS phase, run.attempt AS attempt,"
    " run.resume_path AS resume_path, run.resume_step AS resume_step FROM workflow"
    " JOIN phase ON phase.workflow = workflow.id LEFT JOIN run ON run.phase = phase.id"
    " WHERE workflow.id = ?1 AND (?2 = '' OR phase.name = ?2) ORDER BY run.id DESC";

/* Calls `take` with each row of the query about `address`. */
static int record_ask(const char *path, const char *query, const struct address *address,
                      void (*take)(sqlite3_stmt *row, void *context), void *context,
                      struct error *err)
{
    sqlite3 *record = NULL;
    sqlite3_stmt *stmt = NULL;
    if (access(path, F_OK) < 0)
        return error_set(err, -ENOENT, "there is no record %s", path);
    int code = sqlite3_open_v2(path, &record, SQLITE_OPEN_READONLY, NULL), status = 0;
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(record, RECORD_WAIT_MS); /* cannot fail */
        code = sqlite3_prepare_v2(record, query, -1, &stmt, NULL);
    }
    if (code == SQLITE_OK) {
        /* These fail only without memory, and then the query finds nothing. */
        (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)address->workflow);
        (void)sqlite3_bind_text(stmt, 2, address->phase, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(stmt, 3, address->attempt);
        while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
            take(stmt, context);
    }
    if (code != SQLITE_DONE)
        status = error_set(err, -EIO, "cannot read the record %s: %s", path,
                           record ? sqlite3_errmsg(record) : sqlite3_errstr(code));
    (void)sqlite3_finalize(stmt); /* gives the error of the last step again */
    (void)sqlite3_close(record);  /* nothing was written */
    return status;
}

/* A column of the row. The query must have it. */
static int record_column(sqlite3_stmt *row, const char *name)
{
    int column = 0;
    while (!text_equal(sqlite3_column_name(row, column), name)) {
        column++;
        assert(column < sqlite3_column_count(row));
    }
    return column;
}

static int64_t record_int(sqlite3_stmt *row, const char *name)
{
    return sqlite3_column_int64(row, record_column(row, name));
}

static const char *record_text(sqlite3_stmt *row, const char *name)
{
    return (const char *)sqlite3_column_text(row, record_column(row, name));
}

static void record_take_metric(sqlite3_stmt *row, void *context)
{
    int value = record_column(row, "value");
    bool is_nan = sqlite3_column_type(row, value) == SQLITE_NULL;
    metrics_add(context, record_text(row, "name"), record_int(row, "step"),
                (double)record_int(row, "time") / 1000,
                is_nan ? NAN : sqlite3_column_double(row, value));
}

int record_add_metrics(const char *path, const struct address *run, struct metrics *metrics,
                       struct error *err)
{
    int status = record_ask(path, record_metrics, run, record_take_metric, metrics, err);
    return status == -ENOENT ? 0 : status;
}

struct record_runs {
    const struct address *address;
    json_t *runs;
    char **name;
};

static void record_take_history(sqlite3_stmt *row, void *context)
{
    struct record_runs *found = context;
    char key[ADDRESS_TEXT_SIZE];
    struct address run = {.workflow = found->address->workflow,
                          .attempt = (uint32_t)record_int(row, "attempt")};
    const char *resume = record_text(row, "resume_path");
    (void)snprintf(run.phase, sizeof run.phase, "%s", record_text(row, "phase"));
    if (!*found->name)
        *found->name = xstrdup(record_text(row, "workflow"));
    if (!run.attempt)
        return; /* the phase has no run yet */
    (void)json_object_set_new(found->runs, address_text(&run, key),
                              json_pack("{s:s, s:I, s:s?, s:I}", "phase", run.phase, "attempt",
                                        (json_int_t)run.attempt, "resume", resume, "first_step",
                                        (json_int_t)record_int(row, "resume_step")));
}

int record_add_runs(const char *path, const struct address *address, json_t *runs, char **ret_name,
                    struct error *err)
{
    struct record_runs found = {.address = address, .runs = runs, .name = ret_name};
    int status = record_ask(path, record_history, address, record_take_history, &found, err);
    return status == -ENOENT ? 0 : status;
}

static void record_take_version(sqlite3_stmt *row, void *context)
{
    *(long long *)context = record_int(row, "user_version");
}

int record_version(const char *path, long long *ret_version, struct error *err)
{
    return record_ask(path, "PRAGMA user_version", &(struct address){0}, record_take_version,
                      ret_version, err);
}
