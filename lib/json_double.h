/* Numbers in JSON, which has neither NaN nor infinities: those are the texts "nan", "inf" and
 * "-inf", in journals, in the record, and in answers of the API. */
#ifndef PHASED_LIB_JSON_DOUBLE_H
#define PHASED_LIB_JSON_DOUBLE_H

#include <jansson.h>
#include <stdbool.h>

/* A new reference. */
json_t *json_double(double value);
/* False: it is neither a number nor one of these texts. */
bool json_double_read(const json_t *json, double *ret_value);

#endif
