/* Whether GPUs that a run holds do nothing. Pure: it is told each second, and counts.
 *
 * A GPU is idle when it was busy for less than 5 % of the last `idle` seconds of samples, on the
 * mean: so a program that wakes it once a minute does not hide it. It works again when a tenth of
 * that time has passed in which it was busier. Seconds without a sample, or in which the GPU does
 * not tell its utilisation, are not counted at all: of a driver that is silent nothing is known. */
#ifndef PHASED_WORKER_TELEMETRY_IDLE_H
#define PHASED_WORKER_TELEMETRY_IDLE_H

#include "worker/telemetry/second.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    IDLE_PARTS = 10,    /* of the window, which moves on by one at a time */
    IDLE_TELL_MAX = 10, /* messages in one run */
};

#define IDLE_BELOW 5.0 /* percent */

struct idle_gpu {
    double sums[IDLE_PARTS];
    unsigned counts[IDLE_PARTS];
    unsigned parts; /* that were seen, up to those of the window */
    bool is_idle;
    uint64_t idle_s; /* how long it has been, by samples */
};

struct idle {
    unsigned parts, part_s; /* of the window; 0: nothing is watched */
    unsigned at, seconds;   /* the part that is being filled, and how far it is */
    unsigned told;
    unsigned count;
    unsigned numbers[SECOND_GPUS_MAX]; /* NVML's, of the second before */
    struct idle_gpu gpus[SECOND_GPUS_MAX];
};

/* 0 seconds: never. */
void idle_init(struct idle *idle, unsigned seconds);

/* A second has passed. Returns what is to be told to people, the caller's to free: which GPUs have
 * become idle, or work again; NULL mostly. */
char *idle_add(struct idle *idle, const struct gpu_second *second);

#endif
