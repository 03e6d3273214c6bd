/* Whether the GPUs of a run do nothing. This module is pure: it takes the value of each second, and
 * counts.
 *
 * A GPU is idle if it was busy for less than 5 % of the last `idle` seconds of samples, on average.
 * So a program that wakes the GPU once a minute does not hide the idleness. The GPU works again
 * when it was busier during a tenth of that time. Seconds without a sample, or without a
 * utilisation, are not counted, because a silent driver tells nothing. */
#ifndef PHASED_WORKER_TELEMETRY_IDLE_H
#define PHASED_WORKER_TELEMETRY_IDLE_H

#include "worker/telemetry/second.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    IDLE_PARTS = 10,    /* of the window, which moves on by one part */
    IDLE_TELL_MAX = 10, /* messages in one run */
};

#define IDLE_BELOW 5.0 /* percent */

struct idle_gpu {
    double sums[IDLE_PARTS];
    unsigned counts[IDLE_PARTS];
    unsigned parts; /* parts that are full, even without samples; at most those of the window */
    bool is_idle;
    uint64_t idle_s; /* counted in samples */
};

struct idle {
    unsigned parts, part_s; /* the window has `parts` parts of `part_s` seconds; 0: no window */
    unsigned at, seconds;   /* the current part, and the seconds in it */
    unsigned told;
    unsigned count;
    unsigned numbers[SECOND_GPUS_MAX]; /* NVML's numbers in the last second */
    struct idle_gpu gpus[SECOND_GPUS_MAX];
};

/* 0 seconds: GPUs are never idle. */
void idle_init(struct idle *idle, unsigned seconds);

/* Takes the values of one second. Returns a message for people if GPUs have become idle or work
 * again, otherwise NULL. The caller frees the text. */
char *idle_add(struct idle *idle, const struct gpu_second *second);

#endif
