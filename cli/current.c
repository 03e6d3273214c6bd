/* Choosing the phase, and its note. */
#include "cli/current.h"

#include "cli/field.h"
#include "cli/phrases.h"
#include "cli/view.h"
#include "lib/text.h"

#include <string.h>

const json_t *current_phase(const json_t *workflow)
{
    const json_t *phases = json_object_get(workflow, "phases"), *phase, *open = NULL;
    size_t i;
    json_array_foreach(phases, i, phase)
    {
        const char *state = field_text(phase, "state");
        if (view_is_final(state) || members_has(phase))
            continue;
        if (strcmp(view_state(phase), "blocked") != 0)
            return phase;
        if (!open)
            open = phase;
    }
    return open ? open : json_array_get(phases, json_array_size(phases) - 1);
}

void current_note(const json_t *workflow, const json_t *phase, double now, struct text *text)
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
