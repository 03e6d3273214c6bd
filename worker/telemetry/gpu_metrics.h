/* The metrics that a run has without printing them: gpu_util (percent, mean of the node's GPUs),
 * gpu_mem_gb (of the GPU that has most in use; 10^9 bytes), gpu_power_w (mean).
 *
 * Guards get each second, at the newest step, and judge this node's GPUs. Into the journal goes,
 * every 10 s and from the first node alone, one row of the newest step: what these ten seconds
 * were, or, while the step stays the same, all the seconds since it came. So a gate that takes the
 * mean of a program without steps has that of all its time. */
#ifndef PHASED_WORKER_TELEMETRY_GPU_METRICS_H
#define PHASED_WORKER_TELEMETRY_GPU_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_second;
struct rows;

enum { GPU_METRICS_COUNT = 3 };

struct gpu_metrics {
    struct rows *rows; /* borrowed; tells the guards too */
    bool is_told;      /* in the journal: the first node's */
    int64_t begin_step;
    unsigned seconds;              /* since the last row */
    bool has_row;                  /* one was written, at `step` */
    int64_t step;                  /* of the last row */
    double sum[GPU_METRICS_COUNT]; /* or the highest; since the last row of another step */
    unsigned counts[GPU_METRICS_COUNT];
};

/* A second has passed. */
void gpu_metrics_add(struct gpu_metrics *metrics, const struct gpu_second *second);

#endif
