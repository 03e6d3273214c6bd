/* The thresholds of a node, from etc/preflight.yaml: for all nodes, and by the model of the GPU. A
 * value without a threshold is not judged. A zero-initialised struct has no thresholds. */
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
    char match[FACTS_TEXT_SIZE]; /* part of the name that NVML gives the GPU */
    struct fact memory_total_mib, nvlinks;
    struct fact figures[FIGURE_COUNT]; /* except those of all-reduces, which are in `groups` */
    unsigned group_count;
    struct thresholds_group groups[THRESHOLDS_GROUPS_MAX];
};

/* How a row of the full level is measured. */
struct thresholds_row {
    struct fact seconds; /* the deadline, without starts; unknown: the row is left out */
    struct fact size;    /* of the buffers in MiB, or of the matrices in elements */
};

struct thresholds {
    struct fact memory_used_mib, ecc_uncorrected, scratch_free_mib, clock_error_ms, xid_hours;
    struct fact baseline_percent; /* how far below a baseline a figure may be */
    struct fact start_seconds;    /* how long a start of CUDA or NCCL may take */
    struct thresholds_row rows[FIGURE_ROW_COUNT];
    unsigned xid_count;
    unsigned xids[THRESHOLDS_XIDS_MAX];
    size_t model_count;
    struct thresholds_model models[THRESHOLDS_MODELS_MAX];
};

/* Reads the file. Problems go to `problems`, each with its line and column. Then returns -EINVAL,
 * and does not change `ret_thresholds`. */
int thresholds_read(const char *path, struct thresholds *ret_thresholds,
                    struct spec_problems *problems);

/* Returns the first model whose `match` is part of `name`, or NULL. */
const struct thresholds_model *thresholds_model(const struct thresholds *thresholds,
                                                const char *name);

/* Returns what groups of this size must reach; unknown if the file does not say. `model` may be
 * NULL. */
struct fact thresholds_of_group(const struct thresholds_model *model, unsigned gpus,
                                unsigned nodes);

#endif
