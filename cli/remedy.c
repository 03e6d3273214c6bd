/* Remedies in words. */
#include "cli/remedy.h"

#include "cli/field.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <string.h>

bool remedy_add(const json_t *run, struct text *text)
{
    const json_t *remedy = json_object_get(run, "remedy"), *change;
    const json_t *changes = json_object_get(remedy, "changes");
    const char *resume = field_text(remedy, "resume");
    size_t i;
    if (!json_is_object(remedy))
        return false;
    json_array_foreach((json_t *)changes, i, change)
    {
        text_addf(text, "%s%s ", i ? ", " : "", field_text(change, "param"));
        phase_value_text(json_object_get(change, "from"), text);
        text_add(text, " → ");
        phase_value_text(json_object_get(change, "to"), text);
    }
    if (json_array_size(changes) == 0)
        text_add(text, "the same params");
    if (strcmp(resume, "start") == 0)
        text_add(text, ", from the start");
    else if (strcmp(resume, "previous") == 0)
        text_add(text, ", from the checkpoint before");
    text_addf(text, " (remedy %s %lld of %lld)", field_text(remedy, "cause"),
              field_integer(remedy, "number"), field_integer(remedy, "times"));
    return true;
}
