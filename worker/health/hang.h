/* Whether a silent run hangs. This module is pure: it gets the time and the signs of life, and
 * counts.
 *
 * A sign of life is output, a metric, or a checkpoint that appears or grows. A step is a metric
 * with a new step. A run hangs when its silence is longer than allowed. The spec may set the
 * allowed silence. Otherwise it is five times the longest silence since the first step, and
 *
 *   until five intervals between steps were seen     at least 15 minutes
 *   from then on                                     at least 5 minutes
 *
 * The minimum exists because starting and compiling may be silent for long, and because steps of a
 * second say nothing about the duration of the first evaluation or checkpoint. Before the first
 * step, the silences of the start count. At the first step they are forgotten, because the start
 * does not repeat.
 *
 * Silence is counted from look to look. If more than HANG_GAP_MS pass between two looks, Slurm has
 * suspended the watcher together with the run. Then only HANG_GAP_MS counts. */
#ifndef PHASED_WORKER_HEALTH_HANG_H
#define PHASED_WORKER_HEALTH_HANG_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HANG_FACTOR = 5,
    HANG_STEPS = 5,
    HANG_FIRST_MS = 15 * 60 * 1000,
    HANG_LEAST_MS = 5 * 60 * 1000,
    HANG_GAP_MS = 2000,
};

/* HANG_EXCUSED: the silence until now has a reason, and does not count for the longest silence. */
enum hang_sign { HANG_NOTHING, HANG_LIFE, HANG_STEP, HANG_EXCUSED };

struct hang {
    int setting_s;
    int64_t looked_ms;
    int64_t silence_ms;
    int64_t longest_ms; /* of the silences that count */
    bool has_step;
    unsigned intervals; /* between steps, up to HANG_STEPS */
};

/* Begins when the ranks start. `setting_s` is `hang_s` of the assignment. */
void hang_init(struct hang *hang, int setting_s, int64_t now_ms);

/* Takes the sign that was seen since the last look. */
void hang_look(struct hang *hang, enum hang_sign sign, int64_t now_ms);

/* The allowed silence. INT64_MAX: there is no limit. */
int64_t hang_limit_ms(const struct hang *hang);
bool hang_is_over(const struct hang *hang);

#endif
