/* Phases and runs, in words: what a run waits for, what phased changed after a failure, suspect
 * checkpoints, and matrices with their members. Each function adds to `text`. */
#ifndef PHASED_CLI_PHRASES_H
#define PHASED_CLI_PHRASES_H

#include "lib/protocol/words.h"

#include <stdbool.h>

#include <jansson.h>

struct text;

/* Adds why the job of a run does not run: it is not submitted yet, waits in Slurm, or Slurm does
 * not know it. Returns false if no reason is known. `run` may be null; `now` is seconds since 1970.
 */
bool wait_write(const json_t *run, double now, struct text *text);
/* The same for a phase. The reason of the phase comes after it: this reason says why there is a
 * further run, and must not hide what the run waits for now. */
bool wait_write_phase(const json_t *phase, double now, struct text *text);

/* Adds "micro_batch 32 → 16, grad_accum 2 → 4 (remedy oom 1 of 2)". Also adds where the next
 * run starts, unless it starts from the newest checkpoint. Returns false if there was no remedy. */
bool remedy_add(const json_t *run, struct text *text);

bool suspect_has(const json_t *phase);

/* Adds "steps 30, 40: saved after a guard had failed or NaN had come". Adds nothing if no
 * checkpoint is suspect. */
void suspect_note(const json_t *phase, struct text *text);

/* Adds a line for `why`: the suspect checkpoints and the last good one. */
void suspect_explain(const json_t *phase, struct text *text);

/* Writes the option that resumes from the last good checkpoint, "--from 20", into `buffer` and
 * returns it; "" if no checkpoint is good. */
const char *suspect_option(const json_t *phase, char *buffer, size_t size);

/* Whether the phase is a member of a matrix. A list of phases shows the matrix instead. */
bool members_has(const json_t *phase);
/* Whether the phase is a matrix. */
bool members_is_matrix(const json_t *phase);
/* Whether the run belongs to the phase with this name. The name of a matrix also covers the runs of
 * its members: `ladder` covers a run of ladder.2. */
bool members_has_run(const char *phase, const json_t *run);
/* The sums over the members of a matrix, with the same names as a phase has (`attempts`,
 * `gpu_seconds`, ...). Returns the phase itself if it is not a matrix. */
const json_t *members_total(const json_t *phase);

/* Adds the params of the matrix and the standing: "batch 8, lr 0.1 (best)". Adds nothing for a
 * phase that is not a member. */
void members_case(const json_t *member, struct text *text);
/* How the member stands, in words for people: best, stayed, cut, out or nothing. */
const char *members_standing(const json_t *member);

/* How many members of the matrix are in this state, and how many take this command now. */
long long members_in_state(const json_t *matrix, enum phase_state state);
long long members_can(const json_t *matrix, enum phase_command command);
/* Adds "rung 2 of 3: 150 succeeded, 40 out, 10 blocked". */
void members_note(const json_t *matrix, struct text *text);

/* Adds what the first queued member waits for: "; sweep.1: not submitted yet: ...". `phases` are
 * all phases of the workflow, including the members. */
void members_wait(const json_t *phases, const json_t *matrix, double now, struct text *text);

/* Adds why members are out: a line for each reason, with the number of members and an example. */
void members_reasons(const json_t *matrix, struct text *text);

#endif
