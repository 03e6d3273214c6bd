/* Whether a phase fits the cluster, and what there may harm it. Pure. */
#ifndef PHASED_DAEMON_LOOP_FIT_H
#define PHASED_DAEMON_LOOP_FIT_H

#include <jansson.h>
#include <stdbool.h>

struct cluster_survey;
struct phase;

/* {"partitions": [{"partition", "nodes": how many would do, "idle": how many of these are idle,
 * "wanted": whether the phase goes there}], "missing": why it fits nowhere that it goes to, or
 * null, "dangers": [text]}. `excluded` are nodes that jobs are kept away from, with commas between;
 * NULL: none. Judged are GPUs, CPUs, memory and limits; what else `slurm:` asks for only Slurm
 * knows. */
json_t *fit_judge(const struct cluster_survey *survey, const struct phase *phase,
                  const char *excluded);

/* Whether the phase, with GPUs of this type, would fit if the nodes were there that are down or
 * drained: Slurm takes its job, and names no start. */
bool fit_waits(const struct cluster_survey *survey, const struct phase *phase,
               const char *gpu_type);

#endif
