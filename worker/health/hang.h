/* Whether a run that shows nothing hangs. Pure: it is told the time and what was seen, and counts.
 *
 * A sign of life is output, a metric, or a checkpoint that comes or grows; a step is a metric that
 * came with a new one. A run hangs when its silence is longer than allowed: as long as the spec
 * says, or, where it says nothing, five times the longest silence since the first step, and
 *
 *   until five intervals between steps were seen     at least 15 minutes
 *   from then on                                     at least 5 minutes
 *
 * since starting and compiling may show nothing for long, and steps of a second say nothing about
 * how long the first evaluation or checkpoint will take. Before the first step the silences of the
 * start count; they are forgotten with it, as it does not come again.
 *
 * Silence is counted from look to look. More than HANG_GAP_MS between two looks were a time in
 * which the watcher itself stood still, suspended by Slurm with all that it watches: only that much
 * of it counts. */
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

/* Excused: the silence until now has a reason, and is no measure of others. */
enum hang_sign { HANG_NOTHING, HANG_LIFE, HANG_STEP, HANG_EXCUSED };

struct hang {
    int setting_s;
    int64_t looked_ms;
    int64_t silence_ms;
    int64_t longest_ms; /* of the silences that count */
    bool has_step;
    unsigned intervals; /* between steps, up to HANG_STEPS */
};

/* The ranks start now. `setting_s` is the assignment's `hang_s`. */
void hang_init(struct hang *hang, int setting_s, int64_t now_ms);

/* What was seen since the look before. */
void hang_look(struct hang *hang, enum hang_sign sign, int64_t now_ms);

/* How long a silence is allowed; INT64_MAX: for ever. */
int64_t hang_limit_ms(const struct hang *hang);
bool hang_is_over(const struct hang *hang);

#endif
