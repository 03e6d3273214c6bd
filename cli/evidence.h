/* The evidence that nodes collected about a run that hung, for phasectl why. */
#ifndef PHASED_CLI_EVIDENCE_H
#define PHASED_CLI_EVIDENCE_H

#include <jansson.h>

struct terminal;
struct text;

/* Adds one line for each node. Also adds the processes of the first node, and what NCCL said there.
 * Adds nothing if there is no evidence. */
void evidence_write(const struct terminal *out, const json_t *evidence, struct text *text);

#endif
