/* What the full level measures, and when a figure is enough. Pure.
 *
 * For each row of the full level, a separate program runs on the GPUs with a deadline. It gives one
 * or two kinds of figures. */
#ifndef PHASED_WORKER_PREFLIGHT_FIGURES_H
#define PHASED_WORKER_PREFLIGHT_FIGURES_H

#include "worker/preflight/facts.h"

#include <stdbool.h>

enum figure {
    FIGURE_HBM_COPY,
    FIGURE_HBM_TRIAD,
    FIGURE_MATRIX,
    FIGURE_HOST_TO_DEVICE,
    FIGURE_DEVICE_TO_HOST,
    FIGURE_PEER,
    FIGURE_ALLREDUCE,
    FIGURE_COUNT,
};

enum figure_row {
    FIGURE_ROW_HBM,
    FIGURE_ROW_MATRIX,
    FIGURE_ROW_COPIES,
    FIGURE_ROW_PEERS,
    FIGURE_ROW_ALLREDUCE,
    FIGURE_ROW_COUNT,
};

struct figure_kind {
    const char *name;  /* the name with the unit, for files and JSON */
    const char *label; /* the name for people */
    const char *unit;
    enum figure_row row;
};

extern const struct figure_kind figure_kinds[FIGURE_COUNT];
extern const char *const figure_rows[FIGURE_ROW_COUNT];

/* Return the figure or the row with this name; FIGURE_COUNT or FIGURE_ROW_COUNT: the name is
 * unknown. */
enum figure figure_of_name(const char *name);
enum figure_row figure_row_of_name(const char *name);

/* The least value of a figure: the threshold of the site, or its baseline reduced by some percent,
 * whichever is larger. Unknown if neither is given. A baseline without a tolerance does not
 * count. */
struct figure_least {
    bool is_known;
    double value;
    struct fact baseline; /* known if the baseline decides */
};

struct figure_least figure_least(struct fact threshold, struct fact baseline, struct fact percent);

#endif
