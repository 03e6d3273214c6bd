/* Whether a program shows that it runs with the params that remedies have changed.
 *
 * A remedy that the command line does not take up helps nothing and hides it: the param has another
 * name there, or a file stands above it. So what the program prints about itself in its first
 * minutes is compared, by name, as metrics are spelled. A value that came once is proven. A param
 * that comes with several others is one that the program changes itself, as a learning rate, and is
 * not judged; nor are texts and truth values, which no metric has. No I/O. */
#ifndef PHASED_WORKER_METRICS_PROOF_H
#define PHASED_WORKER_METRICS_PROOF_H

#include <jansson.h>
#include <stddef.h>

struct extract_row;
struct proof;

/* `changed` lists names among `params`; both may be NULL. NULL when there is nothing to prove: all
 * other calls take that too. */
struct proof *proof_new(const json_t *changed, const json_t *params);
void proof_free(struct proof *proof);

/* What was printed: it is read as `metrics: auto` does, whatever the phase says. */
void proof_feed(struct proof *proof, const char *data, size_t size);
/* What came in other ways. */
void proof_add(struct proof *proof, const struct extract_row *row);

/* What is not proven, in one line, or NULL. The caller's to free(). */
char *proof_doubts(struct proof *proof);

#endif
