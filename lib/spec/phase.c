/* What several programs read of a resolved phase. */
#include "lib/spec/phase.h"

#include "lib/text.h"

#include <string.h>

json_t *phase_spec_find(const json_t *resolved, const char *name)
{
    json_t *phase;
    size_t i;
    json_array_foreach(json_object_get(resolved, "phases"), i, phase)
    {
        if (text_equal(json_string_value(json_object_get(phase, "name")), name))
            return phase;
    }
    return NULL;
}

json_t *phase_spec_options(const json_t *json, unsigned parts)
{
    const json_t *slurm = json_object_get(json, "slurm");
    const json_t *mem = json_object_get(json_object_get(json, "resources"), "mem_mb");
    json_t *options = slurm ? json_copy((json_t *)slurm) : json_object();
    if (json_is_integer(mem))
        (void)json_object_set_new(options, "mem", json_integer(json_integer_value(mem) * parts));
    return options;
}

static void phase_real_text(double number, struct text *text)
{
    size_t size = text->size;
    text_add_number(text, number);
    if (!strpbrk(text_string(text) + size, ".eni")) /* many programs read 5 as another type */
        text_add(text, ".0");
}

void phase_value_text(const json_t *value, struct text *text)
{
    if (json_is_string(value))
        text_add(text, json_string_value(value));
    else if (json_is_integer(value))
        text_addf(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        phase_real_text(json_real_value(value), text);
    else
        text_add(text, json_is_true(value) ? "true" : "false");
}
