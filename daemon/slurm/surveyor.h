/* Makes a survey. Only the Slurm thread uses this. */
#ifndef PHASED_DAEMON_SLURM_SURVEYOR_H
#define PHASED_DAEMON_SLURM_SURVEYOR_H

#include <stddef.h>

struct cluster_result;
struct partitions;
struct submission;

/* Fills outcome and survey of `result`, with a forecast for each submission. Applies the limits of
 * `partitions` to the submissions, and leaves them as they would be submitted. */
void surveyor_look(struct partitions *partitions, struct submission *const *submissions,
                   size_t count, struct cluster_result *result);

#endif
