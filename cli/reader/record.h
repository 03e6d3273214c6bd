/* The record (doc/record.md), read without the daemon. Nothing is ever written to it. */
#ifndef PHASED_CLI_READER_RECORD_H
#define PHASED_CLI_READER_RECORD_H

#include <jansson.h>

struct address;
struct error;
struct metrics;

/* Adds the runs of the workflow or phase to `runs`, in the form of reader_get_history(), the newest
 * first. Sets `ret_name` to the name of the workflow, which the caller frees. Adds nothing if there
 * is no record, or the record does not have the address. */
int record_add_runs(const char *path, const struct address *address, json_t *runs, char **ret_name,
                    struct error *err);

/* Adds the metrics of a run. Adds nothing if the record does not exist or does not have the run. */
int record_add_metrics(const char *path, const struct address *run, struct metrics *metrics,
                       struct error *err);

/* The version of the record's schema. Returns -ENOENT if there is no record. */
int record_version(const char *path, long long *ret_version, struct error *err);

#endif
