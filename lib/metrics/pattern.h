/* `metrics: {pattern: ...}`: a PCRE2 pattern whose named groups are values. Internal to
 * lib/metrics. */
#ifndef PHASED_LIB_METRICS_PATTERN_H
#define PHASED_LIB_METRICS_PATTERN_H

#include <stddef.h>

struct error;
struct pattern;
struct values;

/* Returns -EINVAL, with the column, if the pattern cannot be compiled or has no named group. */
int pattern_new(const char *text, struct pattern **ret_pattern, struct error *err);
void pattern_free(struct pattern *pattern);

/* Adds the values of every match in the line. */
void pattern_read(struct pattern *pattern, struct values *values, const char *line, size_t size);

#endif
