/* Metrics in the form in which the API answers them: {"steps": [1, 2], "series": {"loss": [5.1,
 * null]}}. A missing value is null, and NaN is the string nan. */
#ifndef PHASED_CLI_READER_COLUMNS_H
#define PHASED_CLI_READER_COLUMNS_H

#include <jansson.h>

struct metrics;
struct option_list;

/* Returns a new object with the newest `last` steps (0: all) of the series in `names`, or of all
 * series if there are no names. A name without a series has a column of nulls. */
json_t *columns_json(struct metrics *metrics, const struct option_list *names, unsigned last);

#endif
