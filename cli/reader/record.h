/* The record (doc/record.md), read without the daemon. Nothing is ever written to it. */
#ifndef PHASED_CLI_READER_RECORD_H
#define PHASED_CLI_READER_RECORD_H

struct address;
struct error;
struct metrics;

/* Sets `address` to the newest run that it names: of the workflow, of the phase, or the run itself.
 * `path` is the file of the record. Returns -ENOENT if the record has no such run, or does not
 * exist. */
int record_find_run(const char *path, struct address *address, struct error *err);

/* Adds the metrics of a run. Adds nothing if the record does not exist or does not have the run. */
int record_add_metrics(const char *path, const struct address *run, struct metrics *metrics,
                       struct error *err);

/* The version of the record's schema. Returns -ENOENT if there is no record. */
int record_version(const char *path, long long *ret_version, struct error *err);

#endif
