/* The metrics that a run has without printing them: gpu_util (percent, mean of the node's GPUs),
 * gpu_util_min (of the GPU that is least busy), gpu_mem_gb (of the GPU that has most in use; 10^9
 * bytes), gpu_power_w (mean).
 *
 * The least busy GPU is the one with the lowest mean of ten seconds, not another one each second:
 * the driver looks at a few moments of a second, so that of eight GPUs that are all busy for 95 %
 * one often seems to rest.
 *
 * Guards get each second, at the newest step, and judge this node's GPUs. Into the journal goes,
 * every 10 s and from the first node alone, one row of the newest step: what these ten seconds
 * were, or, while the step stays the same, all the seconds since it came. So a gate that takes the
 * mean of a program without steps has that of all its time. */
#ifndef PHASED_WORKER_TELEMETRY_GPU_METRICS_H
#define PHASED_WORKER_TELEMETRY_GPU_METRICS_H

#include "worker/telemetry/means.h"

#include <stdbool.h>
#include <stdint.h>

struct rows;

enum { GPU_METRICS_COUNT = 4, GPU_METRICS_EVERY_S = 10 };

struct gpu_metrics {
    struct rows *rows; /* borrowed; tells the guards too */
    bool is_told;      /* in the journal: the first node's */
    int64_t begin_step;
    unsigned seconds;    /* since the last row */
    bool has_row;        /* one was written, at `step` */
    int64_t step;        /* of the last row */
    struct means so_far; /* since the last row of another step */
    uint64_t recent_count;
    struct gpu_second recent[GPU_METRICS_EVERY_S]; /* the newest is at (recent_count - 1) % 10 */
};

/* A second has passed. */
void gpu_metrics_add(struct gpu_metrics *metrics, const struct gpu_second *second);

#endif
