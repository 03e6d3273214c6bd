/* The progress bar of a line. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_BAR_H
#define PHASED_LIB_METRICS_BAR_H

struct line_memory;
struct values;

/* Reads the progress bar, "45%|####    | 120/266 [", of the line that begins at `at`. Sets the step
 * that it counts. Returns where the bar ends; `at` if the line has no bar. */
const char *bar_read(struct line_memory *memory, struct values *values, const char *at,
                     const char *end);

#endif
