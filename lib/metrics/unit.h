/* Units set apart from their number. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_UNIT_H
#define PHASED_LIB_METRICS_UNIT_H

#include <stddef.h>

struct span;

/* Reads one space and a unit behind a number, as in "1.2 GB" or "0.5 s". `words` is the name of the
 * number. Multiplies the value by the factor of the unit. Returns the size of both; 0: there is no
 * such unit. */
size_t unit_read_apart(const char *at, const char *end, const struct span *words, size_t count,
                       double *value);

#endif
