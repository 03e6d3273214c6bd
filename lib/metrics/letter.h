/* The letters of a log that are not ASCII. */
#ifndef PHASED_LIB_METRICS_LETTER_H
#define PHASED_LIB_METRICS_LETTER_H

#include <stddef.h>
#include <stdint.h>

/* Reads the character at `at`, which is before `end`, and returns its size. A byte that is not
 * UTF-8 counts as Latin-1. `ret_code` may be NULL here and below. */
size_t letter_decode(const char *at, const char *end, uint32_t *ret_code);

/* Returns the size of the letter at `at` if the letter is not ASCII. A letter is a part of a name;
 * the signs between names, such as the borders of tables and the blocks of bars, are none. 0: there
 * is no such letter. */
size_t letter_read(const char *at, const char *end, uint32_t *ret_code);

#endif
