/* What a node must reach: etc/preflight.yaml, keyed by the GPU's model. A figure that the file does
 * not give is not judged. Zero-initialised is a valid set that judges no figure. */
#ifndef PHASED_WORKER_PREFLIGHT_THRESHOLDS_H
#define PHASED_WORKER_PREFLIGHT_THRESHOLDS_H

#include "worker/preflight/facts.h"

#include <stddef.h>

struct spec_problems;

enum { THRESHOLDS_MODELS_MAX = 32, THRESHOLDS_XIDS_MAX = 64 };

struct thresholds_model {
    char match[FACTS_TEXT_SIZE]; /* part of NVML's name of the GPU */
    struct fact memory_total_mib, nvlinks;
};

struct thresholds {
    struct fact memory_used_mib, ecc_uncorrected, scratch_free_mib, clock_error_ms, xid_hours;
    unsigned xid_count;
    unsigned xids[THRESHOLDS_XIDS_MAX];
    size_t model_count;
    struct thresholds_model models[THRESHOLDS_MODELS_MAX];
};

/* Reads the file. What is wrong is added to `problems`, each with its line and column; then
 * -EINVAL is returned and `ret_thresholds` left as it was. */
int thresholds_read(const char *path, struct thresholds *ret_thresholds,
                    struct spec_problems *problems);

/* The first model whose `match` is part of `name`; NULL when none is. */
const struct thresholds_model *thresholds_model(const struct thresholds *thresholds,
                                                const char *name);

#endif
