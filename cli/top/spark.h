/* A curve in one line of text. */
#ifndef PHASED_CLI_TOP_SPARK_H
#define PHASED_CLI_TOP_SPARK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct text;

struct spark_point {
    double step, value;
};

/* Zero-initialised: no points. */
struct spark {
    struct spark_point *points; /* by step */
    size_t count;
};

void spark_fini(struct spark *spark);

/* Adds the values of the array `values` that are not null, at the steps of the array `steps`. */
void spark_add(struct spark *spark, const json_t *steps, const json_t *values);

/* Writes at most `columns` bars. Each bar is the mean of the values of the same number of steps.
 * NaN and infinite numbers are an x. Writes nothing if there are fewer than two values, because one
 * value is not a curve. */
void spark_write(const struct spark *spark, int columns, bool unicode, struct text *text);

#endif
