/* What one line of a log says, for `metrics: auto`. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_LINE_H
#define PHASED_LIB_METRICS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct values;

/* What is remembered from line to line. Zero-initialised. */
struct line_memory {
    double bar_total;       /* of the bar that counts steps; 0: no such bar has come */
    double bar_before;      /* the total of the bar that counted before */
    bool bar_is_under_way;  /* its newest state is not its end */
    bool bar_is_training;   /* a metric came while it was under way, or in its line */
    bool bar_gives_way;     /* the bar ended before any metric came: it may not be the training */
    bool bar_is_settled;    /* the bar came again after another bar: it counts from now on */
    bool has_metric;        /* a metric came since the first bar */
    double other_count;     /* the bar of this line, if it does not count */
    double other_total;     /* 0: no such bar */
    bool has_bar_with_step; /* a line named a step beside its bar: bars count other things */
};

/* Adds what the line says to `values`. The line has no line end and no terminal sequences. */
void line_read(struct line_memory *memory, struct values *values, const char *text, size_t size);

#endif
