/* The file of trackio: an SQLite file for each project, with a row for each step of a run.
 *
 * These facts are from trackio 0.36.0 (commit 2a02752): init_db, bulk_log and get_logs of
 * trackio/sqlite_storage.py, serialize_values of trackio/utils.py. Files from before April 2026
 * have no run_id, and are refused. trackio makes its other tables itself when they are needed. */
#ifndef PHASED_CLI_METRICS_TRACKIO_H
#define PHASED_CLI_METRICS_TRACKIO_H

#include <stdint.h>

#include <jansson.h>

struct error;

/* Replaces the rows of the run, from `step` on, by the rows of `columns`. `columns` is an answer of
 * metrics, and has no step before `step`. Makes the file if it does not exist. One transaction
 * replaces all rows, so a reader sees either all old rows or all new rows. -EINVAL: the file cannot
 * be written, or it belongs to another program; then the file is unchanged. */
int trackio_replace(const char *path, const char *run, int64_t step, const json_t *columns,
                    struct error *err);

#endif
