/* Means of parts of a series, drawn as bars. */
#include "cli/top/spark.h"

#include "cli/field.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>

void spark_fini(struct spark *spark)
{
    free(spark->points);
    *spark = (struct spark){0};
}

void spark_add(struct spark *spark, const json_t *steps, const json_t *values)
{
    size_t size = spark->count + json_array_size(values) + 1, i;
    const json_t *value;
    spark->points = xrealloc(spark->points, size * sizeof spark->points[0]);
    json_array_foreach(values, i, value)
    {
        if (json_is_null(value))
            continue;
        spark->points[spark->count++] = (struct spark_point){
            .step = json_number_value(json_array_get(steps, i)), .value = field_as_number(value)};
    }
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

/* The bar that a point is part of. */
static size_t spark_place(const struct spark *spark, size_t point, size_t bars)
{
    double first = spark->points[0].step, last = spark->points[spark->count - 1].step;
    double share = last > first ? (spark->points[point].step - first) / (last - first) : 0;
    size_t bar = share > 0 ? (size_t)(fmin(share, 1) * (double)bars) : 0;
    return bar < bars ? bar : bars - 1;
}

/* The mean of each bar. A bar without a point is as high as the bar before it. */
static double *spark_means(const struct spark *spark, size_t bars)
{
    double *means = xcalloc(bars, sizeof *means);
    size_t *counts = xcalloc(bars, sizeof *counts);
    for (size_t i = 0; i < spark->count; i++) {
        size_t bar = spark_place(spark, i, bars);
        means[bar] += spark->points[i].value;
        counts[bar]++;
    }
    for (size_t bar = 0; bar < bars; bar++) {
        if (counts[bar])
            means[bar] /= (double)counts[bar];
        else if (bar > 0)
            means[bar] = means[bar - 1];
    }
    free(counts);
    return means;
}

void spark_write(const struct spark *spark, int columns, bool unicode, struct text *text)
{
    double low = INFINITY, high = -INFINITY;
    if (spark->count < 2 || columns <= 0)
        return;
    size_t bars = (size_t)columns < spark->count ? (size_t)columns : spark->count;
    double *means = spark_means(spark, bars);
    for (size_t bar = 0; bar < bars; bar++) {
        low = isfinite(means[bar]) ? fmin(low, means[bar]) : low;
        high = isfinite(means[bar]) ? fmax(high, means[bar]) : high;
    }
    for (size_t bar = 0; bar < bars; bar++)
        text_add(text, spark_bar(means[bar], low, high, unicode));
    free(means);
}
