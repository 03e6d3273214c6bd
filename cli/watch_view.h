/* What `watch` shows: the events of a workflow as lines, one line with a bar for each phase that
 * has not ended, and the table at the end. */
#ifndef PHASED_CLI_WATCH_VIEW_H
#define PHASED_CLI_WATCH_VIEW_H

#include <stdbool.h>

#include <jansson.h>

struct cli;
struct terminal;
struct text;

enum { EVENT_INDENT = 10 }; /* columns of the time; lines that belong to an event begin there */

/* Adds `14:02:11  validate  queued -> active`, unless the line would only repeat another event.
 * With `names_workflow`, the line has 7/validate. `note` follows the event; it may be empty. */
void event_write(const struct terminal *terminal, const json_t *event, bool names_workflow,
                 const char *note, struct text *text);

/* Adds lines that fit the width of the terminal, for an array of workflows. If there are several,
 * the lines name them. `now` is seconds since 1970. */
void live_write(const struct terminal *terminal, const json_t *workflows, double now,
                struct text *text);

/* Adds the runs, time, GPU time and cost of each phase, and the places of the model and the record.
 * If the workflow is held, also adds what can be done. Asks the daemon for the runs. */
void summary_write(struct cli *cli, const json_t *workflow, struct text *text);

#endif
