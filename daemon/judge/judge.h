/* The gate of a phase whose run has succeeded: every check is evaluated on the metrics in the
 * record, the verdicts are recorded, and the core is told. A phase without a gate passes. Likewise
 * whom a matrix chooses among its members, and what a remedy makes of the params of a phase. */
#ifndef PHASED_DAEMON_JUDGE_JUDGE_H
#define PHASED_DAEMON_JUDGE_JUDGE_H

#include <jansson.h>
#include <stdint.h>

struct error;
struct loop;
struct room;
struct workflow;

extern const struct room judge_room;

/* What the gate of an active phase would find now: [VERDICT]. Records and decides nothing. The
 * answer may be older: by 19 times the time that it took. NULL: the phase is not active, or is a
 * matrix. Fails when the record cannot be read. */
int judge_so_far(struct loop *loop, uint64_t workflow, const char *phase, json_t **ret_verdicts,
                 struct error *err);

/* Results of earlier workflows: a member of a matrix that was run before is not run again, where
 * the spec asks for that (`best: {reuse: 7d}`). Marks each member in the resolved document by what
 * it is made of, for this and later workflows, and gives those of the new workflow their results
 * that are known. `submission` is the body of POST /v1/workflows, which tells where submit was
 * called and what code lay there. */
int judge_reuse(struct loop *loop, json_t *resolved, const json_t *submission,
                struct workflow *workflow, struct error *err);

#endif
