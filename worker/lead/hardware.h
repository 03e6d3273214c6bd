/* Which GPU a run really has, and which part of its phase's `by_gpu` is for it
 * (lib/spec/overlay.h).
 *
 * The lead asks before anything is started, on the first node: the driver, else Slurm for the type
 * it has allocated. What it has found, and chosen by it, stands in RUN_DIR/hardware.json, where the
 * agents of all nodes read it; so they run one phase, whatever they would have found themselves:
 *
 *   {"model": "NVIDIA H100 80GB HBM3", "memory_gib": 79.6, "source": "driver", "by_gpu": "h100"}
 *
 * `source` is driver, slurm or null: nobody could tell. `by_gpu` is null where nothing is for it.
 */
#ifndef PHASED_WORKER_LEAD_HARDWARE_H
#define PHASED_WORKER_LEAD_HARDWARE_H

#include <jansson.h>
#include <stdint.h>

struct error;

/* Asks, chooses for `spec` and writes the file. Takes seconds at worst: who cannot answer by then
 * is not waited for. Not knowing is no failure; only a file that cannot be written is. */
int hardware_settle(const char *run_dir, const json_t *spec, int64_t job_id, struct error *err);

/* The type of the job's GPUs in what `scontrol --detail show job` says of it, the caller's to
 * free(); NULL: none. */
char *hardware_slurm_type(const char *description);

#endif
