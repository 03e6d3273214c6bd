/* Writes JSON, and reads its texts and numbers. */
#include "lib/json.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>

char *json_text(const json_t *json, size_t flags)
{
    char *text = json_dumps(json, flags);
    if (!text)
        abort();
    return text;
}

json_t *json_string_of(const char *text)
{
    char *string = xstrdup(text);
    text_make_utf8(string);
    json_t *json = json_string(string);
    free(string);
    return json;
}

const char *json_member_text(const json_t *object, const char *name)
{
    const char *text = json_member_string(object, name);
    return text ? text : "";
}

const char *json_member_string(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

json_int_t json_member_integer(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

double json_number(const json_t *json)
{
    return json_is_number(json) ? json_number_value(json) : NAN;
}

json_t *json_double(double value)
{
    if (isfinite(value))
        return json_real(value);
    return json_string(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

bool json_double_read(const json_t *json, double *ret_value)
{
    const char *text = json_string_value(json);
    if (json_is_number(json))
        *ret_value = json_number_value(json);
    else if (text && text_equal(text, "nan"))
        *ret_value = NAN;
    else if (text && text_equal(text, "inf"))
        *ret_value = INFINITY;
    else if (text && text_equal(text, "-inf"))
        *ret_value = -INFINITY;
    else
        return false;
    return true;
}
