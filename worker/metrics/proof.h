/* Whether the output of a program shows the params that remedies have changed.
 *
 * A remedy has no effect if the command line does not use the param: the param may have another
 * name there, or a file may override it. So the values that the program prints in its first minutes
 * are compared by name, in the spelling of metrics. A param is proven when the program has printed
 * its value once. A program may itself change a param, such as a learning rate. So a param is not
 * judged if the program prints several other values for it. Texts and truth values are not judged
 * either, because metrics are numbers. This module does no I/O. */
#ifndef PHASED_WORKER_METRICS_PROOF_H
#define PHASED_WORKER_METRICS_PROOF_H

#include <jansson.h>
#include <stddef.h>

struct extract_row;
struct proof;

/* `changed` lists names among `params`; both may be NULL. Returns NULL if there is nothing to
 * compare. All other functions accept NULL. */
struct proof *proof_new(const json_t *changed, const json_t *params);
void proof_free(struct proof *proof);

/* Takes output of the program. It is read as with `metrics: auto`, whatever the phase says. */
void proof_feed(struct proof *proof, const char *data, size_t size);
/* Takes a row from another source. */
void proof_add(struct proof *proof, const struct extract_row *row);

/* Says in one line which values are not proven, or returns NULL. The caller frees the text. */
char *proof_doubts(struct proof *proof);

#endif
