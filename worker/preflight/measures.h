/* What the full level measured: figures, wrong values and troubles, as the program on the GPUs
 * tells them, a line each. Reading a line is pure.
 *
 *     NAME A B VALUE     a figure (worker/preflight/figures.h): of GPU A, from GPU A to GPU B, of
 *                        group B of round A
 *     wrong A B TEXT     values that are not what they must be
 *     failed A TEXT      an error of the hardware, or an answer did not come in time; A may be `-`
 *     unknown A TEXT     it could not be measured, for no fault of this node that is known
 *     end                all was told
 *
 * A and B count the allocated GPUs from 0. */
#ifndef PHASED_WORKER_PREFLIGHT_MEASURES_H
#define PHASED_WORKER_PREFLIGHT_MEASURES_H

#include "worker/preflight/figures.h"

#include <stdbool.h>
#include <stddef.h>

enum { MEASURES_MAX = 2048, MEASURE_TEXT_SIZE = 200 };

enum measure_kind {
    MEASURE_FIGURE,
    MEASURE_WRONG,
    MEASURE_FAILED,
    MEASURE_UNKNOWN,
};

struct measure {
    enum measure_kind kind;
    enum figure_row row;
    enum figure figure; /* of MEASURE_FIGURE */
    bool is_of_one;     /* `a` and `b` tell whose it is: always so of figures and wrong values */
    unsigned a, b;
    double value;
    char text[MEASURE_TEXT_SIZE];
};

struct measures {
    bool is_taken[FIGURE_ROW_COUNT]; /* the row was begun; else nothing is said of it */
    bool is_whole[FIGURE_ROW_COUNT]; /* it came to its end */
    size_t count;
    struct measure items[MEASURES_MAX];
};

/* Takes one line of what the program of `row` says. Returns -EINVAL for a line of no known form. */
int measures_take_line(struct measures *measures, enum figure_row row, const char *line);

/* Adds a trouble that was seen from outside. */
void measures_add_trouble(struct measures *measures, enum measure_kind kind, enum figure_row row,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
