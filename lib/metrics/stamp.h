/* What a logger prints before its message. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_STAMP_H
#define PHASED_LIB_METRICS_STAMP_H

struct span;

/* Reads the time that a logger prints: 2024-01-01 10:00:00,123 or 10:00:00. Returns where it ends;
 * NULL: there is no such time. */
const char *stamp_read(const char *at, const char *end);

/* Reads the place in a program that a logger prints, module:function:line, if the prefix of the
 * message ends there. Returns where it ends; NULL: there is no place. */
const char *stamp_read_place(const char *at, const char *end, struct span *ret_function);

#endif
