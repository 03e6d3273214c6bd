/* Questions about runs that can be answered without the daemon, too. The daemon is asked first. If
 * no daemon runs, the answer comes from the files of the run and from the record, and a line on
 * standard error says so once. */
#ifndef PHASED_CLI_READER_READER_H
#define PHASED_CLI_READER_READER_H

#include <jansson.h>

struct address;
struct cli;
struct error;
struct option_list;

/* Replaces the address of a phase or workflow by the address of its newest run. */
int reader_find_run(struct cli *cli, struct address *address, struct error *err);

/* Returns 1 if the run has ended, and 0 if it goes on. */
int reader_has_ended(struct cli *cli, const struct address *run, struct error *err);

/* What is known of the runs of a workflow, phase or run: {"name": "trm" (the workflow's),
 * "is_over": false, "runs": [{"phase", "attempt", "resume": "/..." or null, "first_step",
 * "state"}]}, in any order. Without the daemon there is no state, and only a run can be over: the
 * daemon decides on the next run. */
int reader_get_history(struct cli *cli, const struct address *address, json_t **ret_json,
                       struct error *err);

/* The metrics of the newest `last` steps (0: all), as the API answers them. Without names, all
 * metrics. The result is the caller's to json_decref(). */
int reader_get_metrics(struct cli *cli, const struct address *run, const struct option_list *names,
                       unsigned last, json_t **ret_json, struct error *err);

#endif
