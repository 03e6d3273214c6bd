/* `metrics: {pattern: ...}`: a PCRE2 pattern whose named groups are values. */
#ifndef PHASED_LIB_METRICS_PATTERN_H
#define PHASED_LIB_METRICS_PATTERN_H

#include <jansson.h>
#include <stddef.h>

struct error;
struct pattern;
struct values;

/* Returns the plain names of the values, as keys of an object. NULL: the worker could not use the
 * pattern. `err` says why, and has the column. */
json_t *pattern_names(const char *text, struct error *err);

/* Returns -EINVAL, with the column, if the pattern is too long, cannot be compiled or has no named
 * group. */
int pattern_new(const char *text, struct pattern **ret_pattern, struct error *err);
void pattern_free(struct pattern *pattern);

/* Adds the values of every match in the line. */
void pattern_read(struct pattern *pattern, struct values *values, const char *line, size_t size);

#endif
