/* What the GPUs of a node did in one second, or on average in several seconds: a plain value. As
 * JSON, it is a sample (lib/protocol/sampler_line.h):
 *
 *   {"time": 1790000000.1, "gpus": [0, 1], "util": [97, 98], "power_w": [650.2, null], ...}
 *
 * A column without any value is left out. */
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

/* Begins a second of these GPUs, without values. */
void second_init(struct gpu_second *second, const unsigned *gpus, unsigned count);

/* Whether the second is of these GPUs. */
bool second_is_of(const struct gpu_second *second, const unsigned *gpus, unsigned count);

enum second_form {
    SECOND_EXACT, /* tenths, with the time */
    SECOND_SHORT, /* whole numbers without the time, because an entry of the journal has one */
};
/* Returns a new object. */
json_t *second_to_json(const struct gpu_second *second, enum second_form form);
/* False: the object is not a second. */
bool second_from_json(const json_t *json, struct gpu_second *ret_second);

/* The mean, maximum and minimum over the GPUs that have a value in this column. NaN: no GPU has a
 * value. */
double second_mean(const struct gpu_second *second, enum gpu_column column);
double second_max(const struct gpu_second *second, enum gpu_column column);
double second_min(const struct gpu_second *second, enum gpu_column column);

/* Several seconds, combined into one: means, the maximum of memory and temperatures, all bits that
 * were set, the newest counters. If a value is absent in some seconds, the other seconds give it.
 */
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
