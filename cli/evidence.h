/* What `why` shows of a run beside its members: the evidence that nodes collected when it hung, and
 * the last lines of a log, read from the file of the run. */
#ifndef PHASED_CLI_EVIDENCE_H
#define PHASED_CLI_EVIDENCE_H

#include <jansson.h>

struct terminal;
struct text;

/* Adds one line for each node. Also adds the processes of the first node, and what NCCL said there.
 * Adds nothing if there is no evidence. */
void evidence_write(const struct terminal *out, const json_t *evidence, struct text *text);

/* Adds the last lines of the most useful log of `run`. `logs` is the daemon's answer about its
 * logs. Adds nothing if the log cannot be read or has no text. */
void tail_write(const json_t *run, const json_t *logs, struct text *text);

#endif
