/* JSON objects and Python's dicts in a line. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_LITERAL_H
#define PHASED_LIB_METRICS_LITERAL_H

#include <stddef.h>

struct values;

/* Reads the object that begins at `at` with a brace and adds its numbers, named by their path of
 * keys. Returns its size in bytes; 0, with nothing added, where it is no complete object. */
size_t literal_read(struct values *values, const char *at, const char *end);

#endif
