/* Members of the daemon's answers. An answer may come from a newer or older daemon. So a member
 * that is absent, null or of another kind is read as an empty text, NaN, 0 or false. */
#ifndef PHASED_CLI_FIELD_H
#define PHASED_CLI_FIELD_H

#include "lib/protocol/words.h"

#include <stdbool.h>

#include <jansson.h>

const char *field_text(const json_t *object, const char *name);
/* Reads the strings inf and -inf as numbers too. Any other string is NaN. */
double field_number(const json_t *object, const char *name);
long long field_integer(const json_t *object, const char *name);
bool field_is_true(const json_t *object, const char *name);

/* Whether the phase takes the command now. The daemon decides it (`can` of PHASE). */
bool field_can(const json_t *phase, enum phase_command command);

double field_as_number(const json_t *value);

/* Whether the list has the text. `text` may be NULL: no list has it. */
bool field_has_text(const json_t *list, const char *text);

/* Whether an object of the list, a phase or a cost, has an object as its member `expect`. */
bool field_any_expects(const json_t *list);

/* Returns the first object of the list whose member is the text; NULL: there is no such object. */
const json_t *field_find(const json_t *list, const char *member, const char *text);

/* The words of lib/protocol/words.h and lib/expr/check.h that an answer has. -1: there is no word,
 * or it is from a newer daemon; such a word is only printed. The final states of a workflow are
 * states of a phase, too. */
int field_workflow_state(const json_t *workflow);
int field_phase_state(const json_t *phase);
int field_phase_hold(const json_t *phase);
int field_hold_budget(const json_t *phase);
int field_run_state(const json_t *run);
int field_run_outcome(const json_t *run);
int field_run_cause(const json_t *run);
int field_stop_reason(const json_t *run);
int field_job_state(const json_t *run);
int field_event_type(const json_t *event);
int field_gate_result(const json_t *event);
int field_check_outcome(const json_t *verdict);

#endif
