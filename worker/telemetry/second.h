/* What the GPUs of a node did in one second, or in several brought together: a plain value.
 *
 *   {"time": 1790000000.1, "gpus": [0, 1], "util": [97, 98], "power_w": [650.2, null], ...}
 *
 * `gpus` are NVML's numbers, in the order of the bus; each column (lib/gpu_columns.h) has a value
 * for each of them, null where that GPU does not tell. A column that none tells is left out. */
#ifndef PHASED_WORKER_TELEMETRY_SECOND_H
#define PHASED_WORKER_TELEMETRY_SECOND_H

#include "lib/gpu_columns.h"

#include <jansson.h>
#include <stdbool.h>

enum { SECOND_GPUS_MAX = 32 };

struct gpu_second {
    double time_s;
    unsigned count;
    unsigned gpus[SECOND_GPUS_MAX];
    double values[GPU_COLUMN_COUNT][SECOND_GPUS_MAX]; /* NaN: absent */
};

/* Of these GPUs, with nothing known yet. */
void second_init(struct gpu_second *second, const unsigned *gpus, unsigned count);

enum second_form {
    SECOND_EXACT, /* tenths, with the time */
    SECOND_SHORT, /* whole numbers, without: for the journal, whose entries have one */
};
/* A new object. */
json_t *second_to_json(const struct gpu_second *second, enum second_form form);
/* False when it is none. */
bool second_from_json(const json_t *json, struct gpu_second *ret_second);

/* Of the GPUs that tell this column; NaN when none does. */
double second_mean(const struct gpu_second *second, enum gpu_column column);
double second_max(const struct gpu_second *second, enum gpu_column column);
double second_min(const struct gpu_second *second, enum gpu_column column);

#endif
