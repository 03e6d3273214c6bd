/* One event of the history as a line. */
#ifndef PHASED_CLI_EVENT_H
#define PHASED_CLI_EVENT_H

#include <stdbool.h>

#include <jansson.h>

struct terminal;
struct text;

enum { EVENT_INDENT = 10 }; /* columns of the time; lines that belong to an event begin there */

/* Adds `14:02:11  validate  queued -> active`, unless the line would only repeat another event.
 * With `names_workflow`, the line has 7/validate. `note` follows the event; it may be empty. */
void event_write(const struct terminal *terminal, const json_t *event, bool names_workflow,
                 const char *note, struct text *text);

#endif
