/* Numbers in JSON. JSON has neither NaN nor infinities. Journals, the record and answers of the API
 * have the texts "nan", "inf" and "-inf" instead. */
#ifndef PHASED_LIB_JSON_DOUBLE_H
#define PHASED_LIB_JSON_DOUBLE_H

#include <jansson.h>
#include <stdbool.h>

/* A new reference. */
json_t *json_double(double value);
/* False: the value is neither a number nor one of these texts. */
bool json_double_read(const json_t *json, double *ret_value);

#endif
