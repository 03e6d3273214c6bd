/* `notify:` of a workflow or of a phase: whom phased notifies, and of what. */
#ifndef PHASED_LIB_SPEC_NOTIFY_H
#define PHASED_LIB_SPEC_NOTIFY_H

#include <stdbool.h>

#include <jansson.h>

struct yaml_node;
struct scope;

/* Returns {"on": ["held", ...], "command": text, "webhook": address}, a new reference. The object
 * has "command", "webhook" or both. NULL: the key is missing, or there was a problem. */
json_t *notify_read(struct scope *scope, const struct yaml_node *node, bool is_phase);

/* Whether curl may post to such an address: http or https, and no control character. */
bool notify_is_webhook(const char *text);
/* Whether the shell may run the text: no control characters except tabs and ends of lines. */
bool notify_is_command(const char *text);

#endif
