/* Starts the program on the GPUs, phase-preflight-gpu, once for each row of the full level.
 *
 * A process of its own for each row: a wedged GPU, or a collective that somebody does not take part
 * in, holds that process alone, which is killed at the row's deadline and not waited for. This
 * program itself needs none of CUDA's libraries. */
#ifndef PHASED_WORKER_PREFLIGHT_PROBE_H
#define PHASED_WORKER_PREFLIGHT_PROBE_H

#include "worker/preflight/figures.h"

#include <stdint.h>

struct groups;
struct measures;
struct thresholds_row;

struct probe {
    const char *program;
    const char *visible; /* the GPUs, for CUDA_VISIBLE_DEVICES */
    const struct groups *groups;
    unsigned node;
    const char *rendezvous; /* a folder that all nodes see; NULL with one node */
};

/* Takes one row with its own deadline, or until `end_ms` on the steady clock if that is earlier. */
void probe_take(const struct probe *probe, enum figure_row row, const struct thresholds_row *how,
                int64_t end_ms, struct measures *measures);

#endif
