/* Choosing the phase, and its note. */
#include "cli/current.h"

#include "cli/field.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "cli/view.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <math.h>

const json_t *current_phase(const json_t *workflow)
{
    const json_t *phases = json_object_get(workflow, "phases"), *phase;
    const json_t *active = NULL, *queued = NULL, *blocked = NULL;
    size_t i;
    json_array_foreach(phases, i, phase)
    {
        int state = view_phase_state(phase);
        const json_t **first = state == PHASE_BLOCKED  ? &blocked
                               : state == PHASE_QUEUED ? &queued
                                                       : &active;
        if (view_is_final(view_state(phase)) || members_has(phase))
            continue;
        if (state == PHASE_HELD)
            return phase;
        if (!*first)
            *first = phase;
    }
    return active    ? active
           : queued  ? queued
           : blocked ? blocked
                     : json_array_get(phases, json_array_size(phases) - 1);
}

const char *current_state(const json_t *workflow)
{
    const json_t *phase = current_phase(workflow);
    bool is_running = field_workflow_state(workflow) == WORKFLOW_RUNNING;
    return is_running && phase ? view_state(phase) : field_text(workflow, "state");
}

/* Adds why the phase is in its state. May add nothing. */
static void current_note(const json_t *workflow, const json_t *phase, double now, struct text *text)
{
    bool is_over = view_is_final(field_text(phase, "state"));
    if (members_is_matrix(phase) && !is_over && !field_text(phase, "hold")[0]) {
        members_note(phase, text);
        members_wait(json_object_get(workflow, "phases"), phase, now, text);
    } else if (!wait_write_phase(phase, now, text)) {
        text_add(text, field_text(phase, "reason"));
    }
    if (!text->size && field_text(phase, "warning")[0])
        text_addf(text, "warning: %s", field_text(phase, "warning"));
}

void current_add_row(struct table *table, const json_t *workflow, enum colour colour,
                     const char *bar, double now)
{
    const json_t *phase = current_phase(workflow);
    const char *state = current_state(workflow);
    double submitted = field_number(workflow, "submitted"), ended = field_number(workflow, "ended");
    struct text note = {0};
    table_addf_in(table, colour, "%lld", field_integer(workflow, "workflow"));
    table_add(table, field_text(workflow, "name"));
    table_add_in(table, view_colour(state), state);
    table_add(table, field_text(phase, "phase"));
    view_add_cell(table, phase, view_progress);
    view_add_eta(table, phase);
    if (bar)
        table_add_in(table, view_colour(state), bar);
    table_add_duration(table, (isnan(ended) ? now : ended) - submitted);
    table_add_duration(table, field_number(workflow, "gpu_seconds"));
    table_add_cost(table, field_number(workflow, "cost_usd"));
    current_note(workflow, phase, now, &note);
    table_take(table, COLOUR_PLAIN, &note);
}
