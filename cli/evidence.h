/* What nodes found out about a run that hung, as phasectl why shows it. */
#ifndef PHASED_CLI_EVIDENCE_H
#define PHASED_CLI_EVIDENCE_H

#include <jansson.h>

struct terminal;
struct text;

/* Adds lines for RUN's `evidence`: a line a node, and of the first node its processes and what NCCL
 * said. Nothing where there is no evidence. */
void evidence_write(const struct terminal *out, const json_t *evidence, struct text *text);

#endif
