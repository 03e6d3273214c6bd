/* What one line of a log tells, for `metrics: auto`. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_LINE_H
#define PHASED_LIB_METRICS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct values;

/* What must be remembered from line to line. Zero-initialised. */
struct line_memory {
    int64_t bar_total; /* of the first progress bar without a label: the one that counts steps */
    bool has_bar_with_step; /* a line had a bar and named its step: bars count something else */
};

/* Adds what the line tells to `values`. The line has no line end and no terminal sequences. */
void line_read(struct line_memory *memory, struct values *values, const char *text, size_t size);

#endif
