/* Judges the gate of a phase whose run has succeeded. Every check is evaluated on the metrics in
 * the record. The verdicts are recorded, and the core is told. A phase without a gate passes. The
 * room also works out which members a matrix chooses, and which params a remedy sets. */
#ifndef PHASED_DAEMON_JUDGE_JUDGE_H
#define PHASED_DAEMON_JUDGE_JUDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct loop;
struct room;
struct workflow;

extern const struct room judge_room;

/* What is known of a phase or of a matrix so far. This records and decides nothing. An answer that
 * took a while to work out is given again for 19 times as long. NULL: there is no such answer.
 * Fails if the record cannot be read.
 *
 * Of an active phase: what its gate would find now, [VERDICT]. A check whose window is not full yet
 * is insufficient.
 *
 * Of a matrix that has not chosen yet and has `best`: the values of its members: {"value":
 * "last(loss)", "goal": "min" or "max", "values": {"ladder.1": 2.5}}. A member whose metrics give
 * no value yet is left out. */
int judge_so_far(struct loop *loop, uint64_t workflow, const char *phase, bool is_matrix,
                 json_t **ret_json, struct error *err);

/* Takes over results of earlier workflows: a member that was run before is not run again, if the
 * spec says so (`best: {reuse: 7d}`). Marks each member in the resolved document with a fingerprint
 * of what the member is made of, for this workflow and later ones. Gives the members of the new
 * workflow the results that are known. `submission` is the body of POST /v1/workflows. It tells in
 * which folder submit was called, and which code was there. */
int judge_reuse(struct loop *loop, json_t *resolved, const json_t *submission,
                struct workflow *workflow, struct error *err);

#endif
