/* The metrics of one phase in memory: by name a series of rows (step, time, value), which
 * expressions read.
 *
 * A series is sorted by step and holds a step once: a run that resumed repeats steps, and what it
 * says last about a step is what counts. What is sampled by the clock (metrics_add_sample) may hold
 * a step many times, in the order of time. Times are seconds since a beginning that the caller
 * chooses, the same for all series of a store; `skip: 3m` and `over: 2m` are read on them. Values
 * may be NaN or infinite. Names are kept as given. Not for more than one thread. */
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

/* Rows with ascending steps; borrowed until the next call that adds to the store. */
struct metrics_series {
    const struct metrics_row *rows;
    size_t count;
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* Adds a row, or replaces the series' row of that step. Quick in any order of steps. */
void metrics_add(struct metrics *metrics, const char *name, int64_t step, double time_s,
                 double value);

/* Adds a row beside those of the same step, to a series that has such rows only. */
void metrics_add_sample(struct metrics *metrics, const char *name, int64_t step, double time_s,
                        double value);

/* The series of that name; one without rows when it never came. */
struct metrics_series metrics_find(struct metrics *metrics, const char *name);

/* How many names there are, and the i-th of them in order of arrival, borrowed like rows. */
size_t metrics_name_count(const struct metrics *metrics);
const char *metrics_name(const struct metrics *metrics, size_t i);

#endif
