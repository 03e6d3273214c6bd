/* Starts the program on the GPUs, phase-preflight-gpu, once for each row of the full level.
 *
 * Each row has a process of its own. A wedged GPU, or a collective that a rank does not join,
 * blocks only that process. The process is killed at the deadline of the row and not waited for.
 * phase-preflight itself needs no library of CUDA. */
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
    const char *rendezvous; /* a folder that all nodes see; NULL for one node */
    uint64_t start_s;       /* how long a start of CUDA or NCCL may take */
};

/* Measures one row, until its own deadline or until `end_ms` of the steady clock, whichever is
 * earlier. Starts of CUDA and NCCL have a deadline of their own. A row that is late only because of
 * a start has not failed: it could not be measured. */
void probe_take(const struct probe *probe, enum figure_row row, const struct thresholds_row *how,
                int64_t end_ms, struct measures *measures);

#endif
