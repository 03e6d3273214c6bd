/* Curves are drawn with letters. A letter has braille dots (2 x 4) where the output is UTF-8.
 * Curves that differ neither in colour nor in anything else are drawn with a letter each. */
#ifndef PHASED_CLI_METRICS_PLOT_H
#define PHASED_CLI_METRICS_PLOT_H

#include <stddef.h>

struct terminal;
struct text;

enum {
    PLOT_ROWS = 16,
    PLOT_COLUMNS_DEFAULT = 80, /* of the whole picture, if the output has no width */
    PLOT_COLUMNS_MAX = 160,
};

/* Points with ascending x. Points whose y is not finite interrupt the curve. */
struct plot_curve {
    const char *name;
    const double *x, *y;
    size_t count;
};

/* Adds a picture of at most 26 curves (CURVES_RUNS_MAX) with its axes, and a line for each curve
 * with its name and its last value. `title` names the y axis. */
void plot_write(const struct terminal *terminal, const char *title, const struct plot_curve *curves,
                size_t count, struct text *text);

#endif
