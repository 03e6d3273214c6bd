/* Making a survey: of the Slurm thread alone. */
#ifndef PHASED_DAEMON_SLURM_SURVEYOR_H
#define PHASED_DAEMON_SLURM_SURVEYOR_H

#include <stddef.h>

struct cluster_result;
struct partitions;
struct submission;

/* Fills outcome and survey of `result`, with a forecast for each submission. Those are left as they
 * would be submitted; the limits of `partitions` are applied to them. */
void surveyor_look(struct partitions *partitions, struct submission *const *submissions,
                   size_t count, struct cluster_result *result);

#endif
