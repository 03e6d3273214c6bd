/* The metrics that a run has without printing them: gpu_util (percent, mean of the node's GPUs),
 * gpu_util_min (of the least busy GPU), gpu_mem_gb (of the GPU with most memory in use; 10^9
 * bytes), gpu_power_w (mean).
 *
 * The least busy GPU is the GPU with the lowest mean of ten seconds. It is not chosen for each
 * second, because the driver samples only a few moments of a second. So one of eight GPUs often
 * seems idle, although all are 95 % busy.
 *
 * Guards get the values of each second at the newest step, and judge the GPUs of this node. The
 * journal gets one row of the newest step every 10 s, only on the first node. The row has the mean
 * of these ten seconds. While the step stays the same, the row has the mean of all seconds since
 * the step came. So for a program without steps, a gate sees the mean of the whole run. */
#ifndef PHASED_WORKER_TELEMETRY_GPU_METRICS_H
#define PHASED_WORKER_TELEMETRY_GPU_METRICS_H

#include "worker/telemetry/second.h"

#include <stdbool.h>
#include <stdint.h>

struct rows;

enum { GPU_METRICS_COUNT = 4, GPU_METRICS_EVERY_S = 10 };

struct gpu_metrics {
    struct rows *rows;   /* borrowed; it also gives the values to the guards */
    bool is_told;        /* whether the journal gets them: only on the first node */
    unsigned seconds;    /* how many seconds came after the last row */
    bool has_row;        /* a row was written, at `step` */
    int64_t step;        /* the step of the last row */
    struct means so_far; /* the means of the seconds after the last row of another step */
    uint64_t recent_count;
    struct gpu_second recent[GPU_METRICS_EVERY_S]; /* the newest is at (recent_count - 1) % 10 */
};

/* Takes the values of one second. */
void gpu_metrics_add(struct gpu_metrics *metrics, const struct gpu_second *second);

#endif
