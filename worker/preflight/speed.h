/* The rows of the full level: judges what was measured by thresholds and the baseline of a site.
 *
 * Pure, and as strict as the other rows: a row passes only if every figure of every GPU was
 * measured and is enough, and all values were right. */
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
    const struct thresholds *baseline;  /* NULL: there is no baseline */
    const struct groups *groups;        /* the ranks that reduce together */
    unsigned node;                      /* the number of this node among the nodes of the groups */
    const struct fact_gpu *const *gpus; /* allocated GPUs, as measures count them */
    unsigned gpu_count;
};

/* Adds a result for each row that was measured. Returns how many. */
size_t speed_judge(const struct speed *speed, struct row_result *ret_results);

/* Returns all figures that were measured, [{"row", "name", "of", "value", "least"}], as a new
 * reference. `least` is absent if neither a threshold nor a baseline gives it. */
json_t *speed_json(const struct speed *speed);

#endif
