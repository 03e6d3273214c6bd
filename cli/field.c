/* Reading members with a default. */
#include "cli/field.h"

#include "lib/json_double.h"

#include <math.h>

const char *field_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
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
