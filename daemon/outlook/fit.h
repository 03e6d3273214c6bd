/* Whether a phase fits the cluster, what may harm the phase there, and whether the phase may cost
 * more than it should. Pure. */
#ifndef PHASED_DAEMON_OUTLOOK_FIT_H
#define PHASED_DAEMON_OUTLOOK_FIT_H

#include "lib/amount.h"

#include <jansson.h>
#include <stdbool.h>

struct cluster_survey;
struct phase;

/* {"partitions": [{"partition", "nodes": how many nodes would do, "idle": how many of these nodes
 * are idle, "wanted": whether the phase goes there}], "missing": why the phase does not fit where
 * it goes, or null, "dangers": [text]}. `excluded` are nodes that jobs are kept away from, with
 * commas between; NULL: no nodes. Only GPUs, CPUs, memory and limits are judged. Only Slurm knows
 * whether it can give the other things that `slurm:` asks for. */
json_t *fit_judge(const struct cluster_survey *survey, const struct phase *phase,
                  const char *excluded);

/* Whether the phase, with GPUs of this type, would fit if no node was down or drained. Slurm then
 * takes its job, and names no start. */
bool fit_waits(const struct cluster_survey *survey, const struct phase *phase,
               const char *gpu_type);

/* What a phase or a workflow is likely to take. */
struct estimate {
    double amounts[AMOUNT_COUNT]; /* NaN: not known */
    bool is_measured;             /* by similar runs; otherwise `time` gives the most */
};

/* Adds the amounts that are above the budget to the list of dangers. */
void estimate_judge_budget(const struct estimate *estimate, const json_t *budget, json_t *dangers);

/* Adds what differs from the expectation: similar runs took more, or `time` allows less. */
void estimate_judge_expected(const struct estimate *estimate, const json_t *expect,
                             json_t *dangers);

#endif
