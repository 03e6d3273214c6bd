/* JSON objects and dicts of Python in a line. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_LITERAL_H
#define PHASED_LIB_METRICS_LITERAL_H

#include <stddef.h>

struct values;

/* Reads the object that begins at `at` with a brace. Adds its numbers, named by their path of keys.
 * Returns the size in bytes. If the object is not complete, returns 0 and adds nothing. */
size_t literal_read(struct values *values, const char *at, const char *end);

#endif
