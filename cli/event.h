/* One event of the history as a line. */
#ifndef PHASED_CLI_EVENT_H
#define PHASED_CLI_EVENT_H

#include <jansson.h>

struct terminal;
struct text;

enum { EVENT_INDENT = 10 }; /* columns of the time; lines that belong to an event begin there */

/* Adds `14:02:11  validate  queued -> active`, unless the line would only repeat another event. */
void event_write(const struct terminal *terminal, const json_t *event, struct text *text);

#endif
