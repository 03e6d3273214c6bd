/* The names of all words. */
#include "lib/protocol/words.h"

#include "lib/text.h"

#include <assert.h>
#include <stddef.h>

/* Defines the names in the rows of TABLE, and the two functions that translate. `storage` is empty
 * if words.h declares the names. */
#define WORDS(TABLE, object, count, storage)                                                       \
    storage const char *const object##_names[] = {TABLE(WORD_TEXT) NULL};                          \
    const char *object##_name(enum object value)                                                   \
    {                                                                                              \
        assert(value < (count));                                                                   \
        return object##_names[value];                                                              \
    }                                                                                              \
    int object##_parse(const char *name)                                                           \
    {                                                                                              \
        return word_parse(object##_names, count, name);                                            \
    }

/* Defines the function that looks up a cell in the rows of TABLE. */
#define COLUMN(TABLE, cell, type, function, object, count)                                         \
    type function(enum object value)                                                               \
    {                                                                                              \
        static const type cells[] = {TABLE(cell)};                                                 \
        assert(value < (count));                                                                   \
        return cells[value];                                                                       \
    }

#define FLAG(symbol, name, flag)            flag,
#define THIRD(symbol, name, third, fourth)  third,
#define FOURTH(symbol, name, third, fourth) fourth,

const char *state_verb(const char *name)
{
    int state = phase_state_parse(name);
    return state == PHASE_SUCCEEDED || state == PHASE_FAILED ? "has" : "is";
}

int word_parse(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count && name; i++)
        if (text_equal(names[i], name))
            return (int)i;
    return -1;
}

WORDS(WORKFLOW_STATES, workflow_state, WORKFLOW_STATE_COUNT, static)
WORDS(PHASE_STATES, phase_state, PHASE_STATE_COUNT, static)
WORDS(PHASE_HOLDS, phase_hold, HOLD_COUNT, static)
WORDS(PHASE_COMMANDS, phase_command, COMMAND_COUNT, static)
WORDS(GATE_RESULTS, gate_result, GATE_RESULT_COUNT, static)
WORDS(BUDGETS, budget, BUDGET_COUNT, static)
WORDS(RUN_STATES, run_state, RUN_STATE_COUNT, static)
WORDS(RUN_WISHES, run_wish, WISH_COUNT, static)
WORDS(RUN_OUTCOMES, run_outcome, OUTCOME_COUNT, )
WORDS(RUN_CAUSES, run_cause, CAUSE_COUNT, )
WORDS(FAILURE_BLAMES, failure_blame, BLAME_COUNT, )
WORDS(CLUSTER_JOB_STATES, cluster_job_state, CLUSTER_JOB_STATE_COUNT, static)
WORDS(PREFLIGHT_OUTCOMES, preflight_outcome, PREFLIGHT_OUTCOME_COUNT, static)
WORDS(EVENT_TYPES, event_type, EVENT_TYPE_COUNT, static)
WORDS(NOTICE_KINDS, notice_kind, NOTICE_KIND_COUNT, )
WORDS(REMEDY_RESUMES, remedy_resume, REMEDY_RESUME_COUNT, static)
WORDS(STOP_REASONS, stop_reason, STOP_REASON_COUNT, )
WORDS(ENTRY_TYPES, entry_type, ENTRY_TYPE_COUNT, )
WORDS(LEAD_VERBS, lead_verb, LEAD_VERB_COUNT, )
WORDS(AGENT_COMMANDS, agent_command, AGENT_COMMAND_COUNT, static)
WORDS(AGENT_REPORTS, agent_report, AGENT_REPORT_COUNT, )

COLUMN(WORKFLOW_STATES, FLAG, bool, workflow_state_is_final, workflow_state, WORKFLOW_STATE_COUNT)
COLUMN(PHASE_STATES, FLAG, bool, phase_state_is_final, phase_state, PHASE_STATE_COUNT)
COLUMN(CLUSTER_JOB_STATES, FLAG, bool, cluster_job_state_is_final, cluster_job_state,
       CLUSTER_JOB_STATE_COUNT)
COLUMN(RUN_CAUSES, THIRD, bool, run_cause_has_remedy, run_cause, CAUSE_COUNT)
COLUMN(RUN_CAUSES, FOURTH, bool, run_cause_is_printed, run_cause, CAUSE_COUNT)
COLUMN(ENTRY_TYPES, FLAG, bool, entry_type_may_be_lost, entry_type, ENTRY_TYPE_COUNT)
COLUMN(AGENT_COMMANDS, FLAG, bool, agent_command_has_argument, agent_command, AGENT_COMMAND_COUNT)
COLUMN(STOP_REASONS, THIRD, enum run_outcome, stop_reason_outcome, stop_reason, STOP_REASON_COUNT)
COLUMN(STOP_REASONS, FOURTH, enum run_cause, stop_reason_cause, stop_reason, STOP_REASON_COUNT)

size_t run_cause_list(bool (*is_in)(enum run_cause value), const char *ret_names[CAUSE_COUNT])
{
    size_t count = 0;
    for (enum run_cause i = 0; i < CAUSE_COUNT; i++)
        if (is_in(i))
            ret_names[count++] = run_cause_name(i);
    return count;
}
