/* The names of all words. */
#include "lib/protocol/words.h"

#include "lib/text.h"

#include <assert.h>
#include <stddef.h>

/* From the rows of TABLE: the names, and the two functions that translate. */
#define WORDS(TABLE, object, count)                                                                \
    const char *const object##_names[] = {TABLE(NAME)};                                            \
    const char *object##_name(enum object value)                                                   \
    {                                                                                              \
        assert(value < (count));                                                                   \
        return object##_names[value];                                                              \
    }                                                                                              \
    int object##_parse(const char *name)                                                           \
    {                                                                                              \
        return word_parse(object##_names, count, name);                                            \
    }

#define NAME(symbol, name, ...)               name,
#define FLAG(symbol, name, flag)              flag,
#define OUTCOME(symbol, name, outcome, cause) outcome,
#define CAUSE(symbol, name, outcome, cause)   cause,

int word_parse(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count && name; i++)
        if (text_equal(names[i], name))
            return (int)i;
    return -1;
}

WORDS(WORKFLOW_STATES, workflow_state, WORKFLOW_STATE_COUNT)
WORDS(PHASE_STATES, phase_state, PHASE_STATE_COUNT)
WORDS(PHASE_HOLDS, phase_hold, HOLD_COUNT)
WORDS(RUN_STATES, run_state, RUN_STATE_COUNT)
WORDS(RUN_OUTCOMES, run_outcome, OUTCOME_COUNT)
WORDS(RUN_CAUSES, run_cause, CAUSE_COUNT)
WORDS(CLUSTER_JOB_STATES, cluster_job_state, CLUSTER_JOB_STATE_COUNT)
WORDS(PREFLIGHT_OUTCOMES, preflight_outcome, PREFLIGHT_OUTCOME_COUNT)
WORDS(EVENT_TYPES, event_type, EVENT_TYPE_COUNT)
WORDS(REMEDY_RESUMES, remedy_resume, REMEDY_RESUME_COUNT)
WORDS(STOP_REASONS, stop_reason, STOP_REASON_COUNT)
WORDS(ENTRY_TYPES, entry_type, ENTRY_TYPE_COUNT)
WORDS(LEAD_VERBS, lead_verb, LEAD_VERB_COUNT)
WORDS(AGENT_COMMANDS, agent_command, AGENT_COMMAND_COUNT)
WORDS(AGENT_REPORTS, agent_report, AGENT_REPORT_COUNT)

bool workflow_state_is_final(enum workflow_state state)
{
    static const bool finals[] = {WORKFLOW_STATES(FLAG)};
    assert(state < WORKFLOW_STATE_COUNT);
    return finals[state];
}

bool phase_state_is_final(enum phase_state state)
{
    static const bool finals[] = {PHASE_STATES(FLAG)};
    assert(state < PHASE_STATE_COUNT);
    return finals[state];
}

bool cluster_job_state_is_final(enum cluster_job_state state)
{
    static const bool finals[] = {CLUSTER_JOB_STATES(FLAG)};
    assert(state < CLUSTER_JOB_STATE_COUNT);
    return finals[state];
}

bool entry_type_may_be_lost(enum entry_type type)
{
    static const bool flags[] = {ENTRY_TYPES(FLAG)};
    assert(type < ENTRY_TYPE_COUNT);
    return flags[type];
}

bool agent_command_has_argument(enum agent_command command)
{
    static const bool flags[] = {AGENT_COMMANDS(FLAG)};
    assert(command < AGENT_COMMAND_COUNT);
    return flags[command];
}

enum run_outcome stop_reason_outcome(enum stop_reason reason)
{
    static const enum run_outcome outcomes[] = {STOP_REASONS(OUTCOME)};
    assert(reason < STOP_REASON_COUNT);
    return outcomes[reason];
}

enum run_cause stop_reason_cause(enum stop_reason reason)
{
    static const enum run_cause causes[] = {STOP_REASONS(CAUSE)};
    assert(reason < STOP_REASON_COUNT);
    return causes[reason];
}
