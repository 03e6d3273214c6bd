/* What a node must reach: etc/preflight.yaml, keyed by the GPU's model. A figure that the file does
 * not give is not judged. Zero-initialised is a valid set that judges no figure. */
#ifndef PHASED_WORKER_PREFLIGHT_THRESHOLDS_H
#define PHASED_WORKER_PREFLIGHT_THRESHOLDS_H

#include "worker/preflight/facts.h"
#include "worker/preflight/figures.h"

#include <stddef.h>

struct spec_problems;

enum { THRESHOLDS_MODELS_MAX = 32, THRESHOLDS_XIDS_MAX = 64, THRESHOLDS_GROUPS_MAX = 32 };

/* What groups of so many GPUs on so many nodes must reach together. */
struct thresholds_group {
    unsigned gpus, nodes;
    struct fact value;
};

struct thresholds_model {
    char match[FACTS_TEXT_SIZE]; /* part of NVML's name of the GPU */
    struct fact memory_total_mib, nvlinks;
    struct fact figures[FIGURE_COUNT]; /* but that of all-reduces, which are in `groups` */
    unsigned group_count;
    struct thresholds_group groups[THRESHOLDS_GROUPS_MAX];
};

/* How a row of the full level measures. */
struct thresholds_row {
    struct fact seconds; /* its deadline; unknown: the row is left out */
    struct fact size;    /* of its buffers in MiB, or of its matrices in elements */
};

struct thresholds {
    struct fact memory_used_mib, ecc_uncorrected, scratch_free_mib, clock_error_ms, xid_hours;
    struct fact baseline_percent; /* how far below a baseline a figure may be */
    struct thresholds_row rows[FIGURE_ROW_COUNT];
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

/* What groups of this size must reach; unknown where the file does not say. `model` may be NULL. */
struct fact thresholds_of_group(const struct thresholds_model *model, unsigned gpus,
                                unsigned nodes);

#endif
