/* Metrics as the API returns them: {"steps": [1, 2], "times": [1.5, 2.5], "series": {"loss": [5.1,
 * null]}}. A missing value is null, and NaN is the text nan. The time of a step is the time of its
 * earliest value. */
#ifndef PHASED_LIB_METRICS_COLUMNS_H
#define PHASED_LIB_METRICS_COLUMNS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct metrics;

/* Returns a new object with the newest `last` steps (0: all) of the series with these names, or of
 * all series if there are no names. A name without a series has a column of nulls. */
json_t *columns_json(struct metrics *metrics, const char *const *names, size_t count,
                     unsigned last);

/* Adds the values of the steps up to `limit`. `columns` is what columns_json() returns. */
void columns_add(const json_t *columns, int64_t limit, struct metrics *metrics);

#endif
