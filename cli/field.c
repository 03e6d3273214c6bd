/* Reading members with a default. */
#include "cli/field.h"

#include "lib/expr/check.h"
#include "lib/json.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <math.h>

const char *field_text(const json_t *object, const char *name)
{
    return json_member_text(object, name);
}

double field_as_number(const json_t *value)
{
    double number = NAN;
    (void)json_double_read(value, &number);
    return number;
}

double field_number(const json_t *object, const char *name)
{
    return field_as_number(json_object_get(object, name));
}

long long field_integer(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_integer(value))
        return json_integer_value(value);
    return json_is_real(value) ? llround(json_real_value(value)) : 0;
}

bool field_is_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

bool field_can(const json_t *phase, enum phase_command command)
{
    return field_has_text(json_object_get(phase, "can"), phase_command_name(command));
}

bool field_has_text(const json_t *list, const char *text)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        if (text && json_is_string(item) && text_equal(json_string_value(item), text))
            return true;
    }
    return false;
}

bool field_any_expects(const json_t *list)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        if (json_is_object(json_object_get(item, "expect")))
            return true;
    }
    return false;
}

const json_t *field_find(const json_t *list, const char *member, const char *text)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        if (text_equal(field_text(item, member), text))
            return item;
    }
    return NULL;
}

/* The function that reads a word of an object. */
#define FIELD_WORD(function, object, member, parse)                                                \
    int function(const json_t *object)                                                             \
    {                                                                                              \
        return parse(field_text(object, member));                                                  \
    }

FIELD_WORD(field_workflow_state, workflow, "state", workflow_state_parse)
FIELD_WORD(field_phase_state, phase, "state", phase_state_parse)
FIELD_WORD(field_phase_hold, phase, "hold", phase_hold_parse)
FIELD_WORD(field_hold_budget, phase, "hold_budget", budget_parse)
FIELD_WORD(field_run_state, run, "state", run_state_parse)
FIELD_WORD(field_run_outcome, run, "outcome", run_outcome_parse)
FIELD_WORD(field_run_cause, run, "cause", run_cause_parse)
FIELD_WORD(field_stop_reason, run, "stop_reason", stop_reason_parse)
FIELD_WORD(field_job_state, run, "job_state", cluster_job_state_parse)
FIELD_WORD(field_event_type, event, "type", event_type_parse)
FIELD_WORD(field_gate_result, event, "result", gate_result_parse)
FIELD_WORD(field_check_outcome, verdict, "outcome", check_outcome_parse)
