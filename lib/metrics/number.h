/* Numbers as programs print them. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_NUMBER_H
#define PHASED_LIB_METRICS_NUMBER_H

#include <stddef.h>

struct span;

enum number_commas {
    NUMBER_PLAIN,     /* a comma ends the number, as in lists */
    NUMBER_THOUSANDS, /* 58,679 is one number */
};

/* Reads the number at `begin`: decimal, with an exponent, or nan, inf, infinity in any case, each
 * with a sign. Returns its size in bytes; 0: there is no number. Does not look at what follows. */
size_t number_read(const char *begin, const char *end, enum number_commas commas,
                   double *ret_value);

/* As number_read() with NUMBER_THOUSANDS, and also reads a unit directly after the number
 * (34ms, 1.25%, 11.5it/s). The units k, K, M and B multiply. `ret_unit_size` may be NULL. Returns 0
 * also if the number is only a part of something else: a version, a date, a path, an address, a
 * word. */
size_t number_read_measure(const char *at, const char *end, double *ret_value,
                           size_t *ret_unit_size);

/* Reads one space and a unit after a number, as in "1.2 GB" or "0.5 s". `words` is the name of the
 * number. Multiplies the value by the factor of the unit. Returns the size of both; 0: there is no
 * such unit. */
size_t number_read_apart(const char *at, const char *end, const struct span *words, size_t count,
                         double *value);

#endif
