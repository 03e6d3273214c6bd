/* What the full level measured: figures, wrong values and troubles, which the program on the GPUs
 * prints line by line. Reading a line is pure.
 *
 *     NAME A B VALUE     a figure (worker/preflight/figures.h): of GPU A, from GPU A to GPU B, or
 *                        of group B of round A
 *     wrong A B TEXT     values that are wrong
 *     failed A TEXT      an error of the hardware, or no answer in time; A may be `-`
 *     unknown A TEXT     it could not be measured, and no fault of this node is known
 *     start              CUDA or NCCL begins to start; a program begins so, without this line
 *     ready              the start has ended, and the row goes on measuring
 *     end                the last line
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
    enum figure figure; /* what MEASURE_FIGURE measured */
    bool is_of_one;     /* `a` is known; always true for figures and wrong values */
    unsigned a, b;      /* only figures and wrong values have `b` */
    double value;
    char text[MEASURE_TEXT_SIZE];
};

struct measures {
    bool is_taken[FIGURE_ROW_COUNT]; /* the row was begun; only such rows are judged */
    bool is_ready[FIGURE_ROW_COUNT]; /* the last of the lines `start` and `ready` was `ready` */
    bool is_whole[FIGURE_ROW_COUNT]; /* the row came to its end */
    size_t count;
    struct measure items[MEASURES_MAX];
};

/* Takes one line that the program printed for `row`. Returns -EINVAL if the line has no known
 * form. */
int measures_take_line(struct measures *measures, enum figure_row row, const char *line);

/* Adds a trouble that this program noticed itself. */
void measures_add_trouble(struct measures *measures, enum measure_kind kind, enum figure_row row,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
