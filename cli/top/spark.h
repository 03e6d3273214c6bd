/* A curve in one line of text. */
#ifndef PHASED_CLI_TOP_SPARK_H
#define PHASED_CLI_TOP_SPARK_H

#include <stdbool.h>

#include <jansson.h>

struct text;

/* Adds the newest numbers of the array `values` as at most `columns` bars, each the mean of as many
 * numbers. NaN and infinite numbers are an x, and null is left out. Adds nothing if there are fewer
 * than two numbers, because one number is no curve. */
void spark_write(const json_t *values, int columns, bool unicode, struct text *text);

#endif
