/* Rows as JSON. */
#include "lib/text.h"
#include "worker/metrics/extract.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* As few digits as give the same number again. */
static void extract_add_number(struct text *text, double value)
{
    char digits[40];
    if (isnan(value)) {
        text_add(text, "\"nan\"");
        return;
    }
    if (isinf(value)) {
        text_add(text, value > 0 ? "\"inf\"" : "\"-inf\"");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, value); /* long enough */
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add(text, digits);
}

/* Names are plain: nothing in them needs quoting. */
void extract_row_write(const struct extract_row *row, struct text *text)
{
    text_add(text, "{");
    if (row->has_step)
        text_addf(text, "\"step\": %lld", (long long)row->step);
    for (size_t i = 0; i < row->count; i++) {
        text_addf(text, "%s\"%s\": ", i || row->has_step ? ", " : "", row->values[i].name);
        extract_add_number(text, row->values[i].value);
    }
    text_add(text, "}");
}
