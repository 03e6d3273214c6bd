/* Results of earlier workflows: a member of a matrix that was run before is not run again, where
 * the spec asks for that (`best: {reuse: 7d}`). */
#ifndef PHASED_DAEMON_LOOP_REUSE_H
#define PHASED_DAEMON_LOOP_REUSE_H

#include <jansson.h>

struct error;
struct home;
struct store;
struct workflow;

/* Marks each member in the resolved document by what it is made of, for this and later workflows,
 * and gives those of the new workflow their results that are known. `submission` is the body of
 * POST /v1/workflows, which tells where submit was called and what code lay there. */
int reuse_results(struct store *store, const struct home *home, json_t *resolved,
                  const json_t *submission, struct workflow *workflow, struct error *err);

#endif
