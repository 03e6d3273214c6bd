/* The folders of runs (doc/protocol.md), read without the daemon. The workers write there, also
 * while no daemon runs. */
#ifndef PHASED_CLI_READER_FOLDER_H
#define PHASED_CLI_READER_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct address;
struct error;
struct metrics;

/* Sets `address` to the newest run that it names: of the workflow, of the phase, or the run itself.
 * `runs` is the folder of all runs. Returns -ENOENT if no such run has a folder. */
int folder_find_run(const char *runs, struct address *address, struct error *err);

/* The path of the run's folder, or of `name` in it. The caller frees it. */
char *folder_path(const char *runs, const struct address *run, const char *name);

/* Whether the run has reported how it ended, or the daemon has declared it over. */
bool folder_has_ended(const char *runs, const struct address *run);

/* Adds the runs of the workflow that have a folder to `list`, by their addresses; as
 * reader_get_history() has them. Sets `name`, if it is NULL, to the name of the workflow. */
void folder_add_runs(const char *runs, uint64_t workflow, json_t *list, char **name);

/* Adds the metrics that the nodes of the run have written down. Later values replace earlier ones.
 * What is not a metric is passed over. */
void folder_add_metrics(const char *runs, const struct address *run, struct metrics *metrics);

#endif
