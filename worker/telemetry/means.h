/* Combines several seconds of GPUs into one: means, the maximum of memory and temperatures, all
 * bits that were set, the newest counters. If a value is absent in some seconds, the other seconds
 * give it. */
#ifndef PHASED_WORKER_TELEMETRY_MEANS_H
#define PHASED_WORKER_TELEMETRY_MEANS_H

#include "worker/telemetry/second.h"

struct means {
    unsigned seconds;      /* added seconds */
    struct gpu_second sum; /* sums, maxima, bits and counters */
    unsigned counts[GPU_COLUMN_COUNT][SECOND_GPUS_MAX];
};

/* `means` is zero-initialised. Seconds of other GPUs begin a new mean. */
void means_add(struct means *means, const struct gpu_second *second);
/* Returns the combined seconds, and begins a new mean. False: no second was added. */
bool means_take(struct means *means, struct gpu_second *ret_second);

#endif
