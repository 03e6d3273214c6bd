/* A transaction that replaces rows. */
#include "cli/metrics/trackio.h"

#include "cli/field.h"
#include "lib/error.h"
#include "lib/json.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    TRACKIO_WAIT_MS = 30000 /* for a program that writes to the file */,
    TRACKIO_TIME_SIZE = 64
};

static const char trackio_schema[] =
    "CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " run_id TEXT NOT NULL, timestamp TEXT NOT NULL, run_name TEXT NOT NULL,"
    " step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);"
    "CREATE INDEX IF NOT EXISTS idx_metrics_run_step ON metrics (run_id, step);";

/* Whether the file is new, or has the table: 0 or 1. */
static const char trackio_check[] =
    "SELECT count(*) = 0 OR sum(type = 'table' AND name = 'metrics') FROM sqlite_schema";

static const char trackio_delete[] = "DELETE FROM metrics WHERE run_id = ?1 AND step >= ?2";

static const char trackio_insert[] =
    "INSERT INTO metrics (run_id, run_name, timestamp, step, metrics)"
    " VALUES (?1, ?1, ?2, ?3, ?4)";

/* Writes a time with its zone, as Python does. All times have the same length, because trackio
 * sorts them as texts. */
static void trackio_time(double time_s, char buffer[TRACKIO_TIME_SIZE])
{
    long long microseconds = llround(time_s * 1e6);
    time_t seconds = (time_t)(microseconds / 1000000);
    char date[32] = "";
    struct tm parts;
    if (gmtime_r(&seconds, &parts))
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(buffer, TRACKIO_TIME_SIZE, "%s.%06lld+00:00", date, microseconds % 1000000);
}

static json_t *trackio_value(double value)
{
    if (isfinite(value))
        return json_real(value);
    return json_string(isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

/* The values of a row as JSON. The caller frees the text. trackio looks for ":" before a digit, so
 * the text has no spaces. */
static char *trackio_values(const json_t *columns, size_t row)
{
    json_t *values = json_object(), *series;
    const char *name;
    json_object_foreach(json_object_get(columns, "series"), name, series)
    {
        const json_t *value = json_array_get(series, row);
        if (value && !json_is_null(value))
            (void)json_object_set_new(values, name, trackio_value(field_as_number(value)));
    }
    char *text = json_text(values, JSON_COMPACT);
    json_decref(values);
    return text;
}

static int trackio_delete_rows(sqlite3 *file, const char *run, int64_t step)
{
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(file, trackio_delete, -1, &stmt, NULL);
    if (code != SQLITE_OK)
        return code;
    /* These fail only without memory, and then nothing is deleted. */
    (void)sqlite3_bind_text(stmt, 1, run, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(stmt, 2, step);
    (void)sqlite3_step(stmt); /* sqlite3_finalize() gives its error */
    return sqlite3_finalize(stmt);
}

static int trackio_insert_rows(sqlite3 *file, const char *run, const json_t *columns)
{
    const json_t *steps = json_object_get(columns, "steps");
    const json_t *times = json_object_get(columns, "times");
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(file, trackio_insert, -1, &stmt, NULL);
    for (size_t row = 0; code == SQLITE_OK && row < json_array_size(steps); row++) {
        char time[TRACKIO_TIME_SIZE];
        trackio_time(json_number_value(json_array_get(times, row)), time);
        /* These fail only without memory, and then NOT NULL is violated. */
        (void)sqlite3_bind_text(stmt, 1, run, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(stmt, 2, time, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(stmt, 3, json_integer_value(json_array_get(steps, row)));
        (void)sqlite3_bind_text(stmt, 4, trackio_values(columns, row), -1, free);
        (void)sqlite3_step(stmt); /* sqlite3_reset() gives its error */
        code = sqlite3_reset(stmt);
    }
    (void)sqlite3_finalize(stmt); /* gives the error of the last step again */
    return code;
}

static int trackio_is_own(sqlite3 *file, int *ret_is_own)
{
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(file, trackio_check, -1, &stmt, NULL);
    *ret_is_own =
        code == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) > 0;
    return code == SQLITE_OK ? sqlite3_finalize(stmt) : code;
}

int trackio_replace(const char *path, const char *run, int64_t step, const json_t *columns,
                    struct error *err)
{
    sqlite3 *file = NULL;
    int status = 0, is_own = 1;
    int code = sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(file, TRACKIO_WAIT_MS); /* cannot fail */
        code = sqlite3_exec(file, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    }
    if (code == SQLITE_OK)
        code = trackio_is_own(file, &is_own);
    if (code == SQLITE_OK && is_own)
        code = sqlite3_exec(file, trackio_schema, NULL, NULL, NULL);
    if (code == SQLITE_OK && is_own)
        code = trackio_delete_rows(file, run, step);
    if (code == SQLITE_OK && is_own)
        code = trackio_insert_rows(file, run, columns);
    if (code == SQLITE_OK && is_own)
        code = sqlite3_exec(file, "COMMIT", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        status = error_set(err, -EINVAL, "cannot write %s: %s", path,
                           file ? sqlite3_errmsg(file) : sqlite3_errstr(code));
    else if (!is_own)
        status = error_set(err, -EINVAL, "%s is a file of another program, not of trackio", path);
    (void)sqlite3_close(file); /* takes back what was not committed */
    return status;
}
