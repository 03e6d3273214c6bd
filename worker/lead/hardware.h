/* Finds out which GPU a run really has, and which part of the phase's `by_gpu` matches it
 * (lib/spec/overlay.h).
 *
 * The lead does this on the first node, before anything is started. It asks the driver first, then
 * Slurm for the allocated type. The lead writes the answer and its choice into
 * RUN_DIR/hardware.json, and the agents of all nodes read that file. So all nodes run the same
 * phase, whatever GPU each node has:
 *
 *   {"model": "NVIDIA H100 80GB HBM3", "memory_gib": 79.6, "source": "driver", "by_gpu": "h100"}
 *
 * `source` is driver, slurm or null (neither answered). `by_gpu` is null if no part matches. */
#ifndef PHASED_WORKER_LEAD_HARDWARE_H
#define PHASED_WORKER_LEAD_HARDWARE_H

#include <jansson.h>
#include <stdint.h>

struct error;

/* Asks, chooses a part of `spec` and writes the file. This takes some seconds at most, and a later
 * answer is ignored. An unknown GPU is not an error. A file that cannot be written is an error. */
int hardware_settle(const char *run_dir, const json_t *spec, int64_t job_id, struct error *err);

/* Returns the type of the job's GPUs from the output of `scontrol --detail show job`; the caller
 * frees it. NULL: the output names no type. */
char *hardware_slurm_type(const char *description);

#endif
