/* The summary that `watch` prints when a workflow has ended. */
#ifndef PHASED_CLI_SUMMARY_H
#define PHASED_CLI_SUMMARY_H

#include <jansson.h>

struct cli;
struct text;

/* Adds the runs, time, GPU time and cost of each phase, and the places of the model and the record.
 * If the workflow is held, also adds what can be done. Asks the daemon for the runs. */
void summary_write(struct cli *cli, const json_t *workflow, struct text *text);

#endif
