/* Whether a phase fits the cluster, what there may harm it, and whether it may cost more than it
 * should. Pure. */
#ifndef PHASED_DAEMON_OUTLOOK_FIT_H
#define PHASED_DAEMON_OUTLOOK_FIT_H

#include "lib/amount.h"

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

/* What a phase or a workflow would take. */
struct estimate {
    double amounts[AMOUNT_COUNT]; /* NaN: not known */
    bool is_measured;             /* by similar runs; else at most, as `time` has it */
};

/* Adds what is above the budget to the list of dangers. */
void estimate_judge_budget(const struct estimate *estimate, const json_t *budget, json_t *dangers);

/* Adds what is known to be otherwise than expected: similar runs took more, or `time` is less. */
void estimate_judge_expected(const struct estimate *estimate, const json_t *expect,
                             json_t *dangers);

#endif
