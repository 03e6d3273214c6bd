/* What the full level measures, and when a figure is enough. Pure.
 *
 * A row of the full level is one program of its own on the GPUs, with a deadline, and gives one or
 * two kinds of figures. */
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
    const char *name;  /* with its unit: in files and in JSON */
    const char *label; /* for people */
    const char *unit;
    enum figure_row row;
};

extern const struct figure_kind figure_kinds[FIGURE_COUNT];
extern const char *const figure_rows[FIGURE_ROW_COUNT];

/* The figure or the row of this name; their _COUNT for none. */
enum figure figure_of_name(const char *name);
enum figure_row figure_row_of_name(const char *name);

/* What a figure must reach: the site's threshold, and its baseline less so many percent, whichever
 * is more. Unknown where neither is given; a baseline without a tolerance is none. */
struct figure_least {
    bool is_known;
    double value;
    struct fact baseline; /* known where it is what decides */
};

struct figure_least figure_least(struct fact threshold, struct fact baseline, struct fact percent);

#endif
