/* The metrics of one phase in memory. Each name has a series of rows (step, time, value), which
 * expressions read.
 *
 * A series is sorted by step and has each step once. A run that resumed repeats steps, and the last
 * value of a step counts. A series of samples (metrics_add_sample) may have a step many times, in
 * the order of time. Times are seconds since a moment that the caller chooses, the same for all
 * series; `skip: 3m` and `over: 2m` count in these times. Values may be NaN or infinite. Names are
 * kept as given. Only one thread may use the metrics. */
#ifndef PHASED_LIB_EXPR_METRICS_H
#define PHASED_LIB_EXPR_METRICS_H

#include <stddef.h>
#include <stdint.h>

struct metrics;

struct metrics_row {
    int64_t step;
    double time_s;
    double value;
};

/* Rows with ascending steps; borrowed until the next call that adds rows. */
struct metrics_series {
    const struct metrics_row *rows;
    size_t count;
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* Makes a series without rows, if there is no series with this name. */
void metrics_add_name(struct metrics *metrics, const char *name);

/* Adds a row, or replaces the row of this step. Fast for any order of steps. */
void metrics_add(struct metrics *metrics, const char *name, int64_t step, double time_s,
                 double value);

/* Adds a row beside the rows of the same step. The series must have only such rows. */
void metrics_add_sample(struct metrics *metrics, const char *name, int64_t step, double time_s,
                        double value);

/* Returns the series with this name; a series without rows if it never came. */
struct metrics_series metrics_find(struct metrics *metrics, const char *name);

/* How many names there are, and the name with this number, in the order of arrival; borrowed like
 * rows. */
size_t metrics_name_count(const struct metrics *metrics);
const char *metrics_name(const struct metrics *metrics, size_t i);

#endif
