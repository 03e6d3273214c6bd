/* Suspect checkpoints in words. */
#include "cli/suspect.h"

#include "cli/field.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>

enum { SUSPECT_STEPS_MAX = 8 }; /* a line names at most these */

bool suspect_has(const json_t *phase)
{
    return json_array_size(json_object_get(phase, "suspects")) > 0;
}

void suspect_note(const json_t *phase, struct text *text)
{
    const json_t *steps = json_object_get(phase, "suspects");
    size_t count = json_array_size(steps);
    if (count == 0)
        return;
    text_add(text, count > 1 ? "steps " : "step ");
    for (size_t i = 0; i < count && i < SUSPECT_STEPS_MAX; i++)
        text_addf(text, "%s%s", i ? ", " : "", json_string_value(json_array_get(steps, i)));
    text_addf(text, "%s: saved after a guard had failed or NaN had come",
              count > SUSPECT_STEPS_MAX ? " and later ones" : "");
}

const char *suspect_option(const json_t *phase, char *buffer, size_t size)
{
    double step = field_number(phase, "checkpoint_step");
    buffer[0] = '\0';
    if (!isnan(step))
        (void)snprintf(buffer, size, "--from %.0f", step); /* fits */
    return buffer;
}

void suspect_explain(const json_t *phase, struct text *text)
{
    double step = field_number(phase, "checkpoint_step");
    if (!suspect_has(phase))
        return;
    text_add(text, "  suspect checkpoints: ");
    suspect_note(phase, text);
    if (isnan(step))
        text_add(text, "; no checkpoint is good\n");
    else
        text_addf(text, "; the last good checkpoint is of step %.0f\n", step);
}
