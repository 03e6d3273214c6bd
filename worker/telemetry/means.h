/* Seconds of GPUs brought together into one: means, the highest of memory and temperatures, all
 * bits that were set, the newest of counters. A value that was absent in some of the seconds is
 * taken from the others. */
#ifndef PHASED_WORKER_TELEMETRY_MEANS_H
#define PHASED_WORKER_TELEMETRY_MEANS_H

#include "worker/telemetry/second.h"

struct means {
    unsigned seconds;      /* that were added */
    struct gpu_second sum; /* or what stands for it */
    unsigned counts[GPU_COLUMN_COUNT][SECOND_GPUS_MAX];
};

/* `means` is zero-initialised. All seconds are of the same GPUs; others begin anew. */
void means_add(struct means *means, const struct gpu_second *second);
/* Gives what was added, and begins anew. False when that is nothing. */
bool means_take(struct means *means, struct gpu_second *ret_second);

#endif
