/* Members of the daemon's answers. An answer may come from a newer or older daemon. So a member
 * that is absent, null or of another kind is read as an empty text, NaN, 0 or false. */
#ifndef PHASED_CLI_FIELD_H
#define PHASED_CLI_FIELD_H

#include <stdbool.h>

#include <jansson.h>

const char *field_text(const json_t *object, const char *name);
/* Reads the strings inf and -inf as numbers too. Any other string is NaN. */
double field_number(const json_t *object, const char *name);
long long field_integer(const json_t *object, const char *name);
bool field_is_true(const json_t *object, const char *name);

double field_as_number(const json_t *value);

#endif
