/* Questions about runs that can be answered without the daemon, too. The daemon is asked first. If
 * no daemon runs, or if it does not answer within 10 s, the answer comes from the files of the run
 * and from the record, and a line on standard error says so once. `err` may not be NULL. */
#ifndef PHASED_CLI_READER_READER_H
#define PHASED_CLI_READER_READER_H

#include <jansson.h>

struct address;
struct cli;
struct error;
struct option_list;

/* Pings a daemon before other questions, because a question without an answer takes a minute. Fails
 * as client_get() does. Does not ping again for a while after an answer or a ping without one. */
int reader_ping(struct cli *cli, struct error *err);

/* Replaces the address of a phase or workflow by the address of its newest run. */
int reader_find_run(struct cli *cli, struct address *address, struct error *err);

/* Returns 1 if the run has ended, and 0 if it goes on. */
int reader_has_ended(struct cli *cli, const struct address *run, struct error *err);

/* What is known of the runs of a workflow, phase or run: {"name": "trm" (the workflow's),
 * "is_over": false, "runs": [{"phase", "attempt", "resume": "/..." or null, "first_step",
 * "state"}]}, in any order. Without the daemon, "state" is missing, and "is_over" can be true only
 * for a run, because the daemon decides whether another run follows. */
int reader_get_history(struct cli *cli, const struct address *address, json_t **ret_json,
                       struct error *err);

/* If the run has no metrics, replaces its address by the address of the newest earlier run of its
 * phase with metrics. Changes nothing if no run has metrics. */
int reader_find_metrics(struct cli *cli, struct address *run, struct error *err);

/* The metrics of the newest `last` steps (0: all), as the API answers them. Without names, all
 * metrics. The result is a new reference. */
int reader_get_metrics(struct cli *cli, const struct address *run, const struct option_list *names,
                       unsigned last, json_t **ret_json, struct error *err);

#endif
