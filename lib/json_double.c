/* Writes and reads numbers. */
#include "lib/json_double.h"

#include "lib/text.h"

#include <math.h>

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
