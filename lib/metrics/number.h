/* Numbers as programs print them. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_NUMBER_H
#define PHASED_LIB_METRICS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum number_commas {
    NUMBER_PLAIN,     /* a comma ends the number, as in lists */
    NUMBER_THOUSANDS, /* 58,679 is one number */
};

/* Reads the number at `begin`: decimal, with an exponent, or nan, inf, infinity in any case, each
 * with a sign. Returns its size in bytes; 0: there is no number. Does not look at what follows. */
size_t number_read(const char *begin, const char *end, enum number_commas commas,
                   double *ret_value);

/* As number_read(), and also reads a unit directly behind the number (34ms, 1.25%, 11.5it/s). The
 * units k, K, M and B multiply. `ret_unit_size` may be NULL. Returns 0 also if the number is only a
 * part of something else: a version, a date, a path, an address, a word. */
size_t number_read_measure(const char *at, const char *end, enum number_commas commas,
                           double *ret_value, size_t *ret_unit_size);

/* Returns the size of the word at `at`, which may be a unit. */
size_t number_unit_size(const char *at, const char *end);

/* Returns the factor of a unit; 0: the word is no unit. */
double number_unit(const char *at, size_t size);

/* Whether a number or its unit can end at `at`. */
bool number_ends(const char *at, const char *end);

#endif
