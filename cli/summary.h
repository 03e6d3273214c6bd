/* What stays on the screen when a workflow is over. */
#ifndef PHASED_CLI_SUMMARY_H
#define PHASED_CLI_SUMMARY_H

#include <jansson.h>

struct cli;
struct text;

/* Adds, for each phase, runs, time, GPU time and cost, and where the model and the record are; of a
 * held workflow what can be done. Asks the daemon for the runs. */
void summary_write(struct cli *cli, const json_t *workflow, struct text *text);

#endif
