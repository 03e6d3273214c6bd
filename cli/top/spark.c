/* Means of pieces of a series, drawn as bars. */
#include "cli/top/spark.h"

#include "cli/field.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>

/* Copies the values that are not null. Returns how many there are. */
static size_t spark_numbers(const json_t *values, double *numbers)
{
    const json_t *value;
    size_t i, count = 0;
    json_array_foreach(values, i, value)
    {
        if (!json_is_null(value))
            numbers[count++] = field_as_number(value);
    }
    return count;
}

static const char *spark_bar(double value, double low, double high, bool unicode)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    enum { COUNT = sizeof bars / sizeof bars[0] };
    if (!isfinite(value))
        return "x";
    double share = high > low ? (value - low) / (high - low) : 0;
    size_t bar = (size_t)(share * (COUNT - 1) + 0.5);
    return unicode ? bars[bar] : plain[bar];
}

void spark_write(const json_t *values, int columns, bool unicode, struct text *text)
{
    double *numbers = xcalloc(json_array_size(values) + 1, sizeof *numbers);
    double low = INFINITY, high = -INFINITY;
    size_t count = spark_numbers(values, numbers);
    size_t bars = columns < 0 ? 0 : (size_t)columns < count ? (size_t)columns : count;
    for (size_t bar = 0; bar < bars; bar++) {
        size_t begin = bar * count / bars, end = (bar + 1) * count / bars;
        double sum = 0;
        for (size_t i = begin; i < end; i++)
            sum += numbers[i];
        numbers[bar] = sum / (double)(end - begin); /* numbers before `begin` are read already */
        low = isfinite(numbers[bar]) ? fmin(low, numbers[bar]) : low;
        high = isfinite(numbers[bar]) ? fmax(high, numbers[bar]) : high;
    }
    for (size_t bar = 0; count > 1 && bar < bars; bar++)
        text_add(text, spark_bar(numbers[bar], low, high, unicode));
    free(numbers);
}
