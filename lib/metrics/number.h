/* Numbers as programs print them. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_NUMBER_H
#define PHASED_LIB_METRICS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum number_commas {
    NUMBER_PLAIN,     /* a comma ends the number, as in lists */
    NUMBER_THOUSANDS, /* 58,679 is one number */
};

/* Reads the number at `begin`: decimal, with exponent, nan, inf, infinity in any case, with a sign.
 * Returns its size in bytes, or 0 where there is none. What follows it is not looked at. */
size_t number_read(const char *begin, const char *end, enum number_commas commas,
                   double *ret_value);

/* As number_read(), with a unit directly behind it (34ms, 1.25%, 11.5it/s), which is passed over;
 * k, K, M and B multiply. `ret_unit_size` may be NULL. Returns 0 also where the number goes on as
 * something else: a version, a date, a path, an address, a word. */
size_t number_read_measure(const char *at, const char *end, enum number_commas commas,
                           double *ret_value, size_t *ret_unit_size);

/* The size of one space and a unit after it, as in "1.2 GB", or 0. */
size_t number_read_unit_apart(const char *at, const char *end);

#endif
