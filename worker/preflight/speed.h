/* The rows of the full level: judges what was measured by thresholds and a site's baseline.
 *
 * Pure, and as strict as the other rows: a row passes only where every figure of every GPU was
 * taken and is enough, and all values were right. */
#ifndef PHASED_WORKER_PREFLIGHT_SPEED_H
#define PHASED_WORKER_PREFLIGHT_SPEED_H

#include "worker/preflight/figures.h"
#include "worker/preflight/rows.h"

#include <stddef.h>

#include <jansson.h>

struct fact_gpu;
struct groups;
struct measure;
struct measures;
struct thresholds;

struct speed {
    const struct measures *measures;
    const struct thresholds *thresholds;
    const struct thresholds *baseline;  /* NULL: none */
    const struct groups *groups;        /* the ranks that reduce together */
    unsigned node;                      /* which of the groups' nodes this is */
    const struct fact_gpu *const *gpus; /* the allocated ones, as measures count them */
    unsigned gpu_count;
};

/* What one figure must reach. */
struct figure_least speed_least(const struct speed *speed, const struct measure *measure);

/* Adds a result for each row that was taken. Returns how many. */
size_t speed_judge(const struct speed *speed, struct row_result *ret_results);

/* [{"row", "name", "of", "value", "least"}], the caller's: all figures that were taken; `least` is
 * absent where nothing says how much is enough. */
json_t *speed_json(const struct speed *speed);

#endif
