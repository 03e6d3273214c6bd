/* `notify:` of a workflow, or of a phase: who is told what. */
#ifndef PHASED_LIB_SPEC_NOTIFY_H
#define PHASED_LIB_SPEC_NOTIFY_H

#include <stdbool.h>

#include <jansson.h>

struct node;
struct scope;

/* {"on": ["held", ...], "command": text, "webhook": address}, of the last two one at least; the
 * caller's. NULL when there is none, or a problem. */
json_t *notify_read(struct scope *scope, const struct node *node, bool is_phase);

/* Whether curl may post to such an address: http or https, and no control character. */
bool notify_is_webhook(const char *text);
/* Whether the shell may run it: no control characters but tabs and ends of lines. */
bool notify_is_command(const char *text);

#endif
