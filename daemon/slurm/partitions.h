/* The time limits of the cluster's partitions, as the controller told them within the last half
 * minute. Of the Slurm thread alone. */
#ifndef PHASED_DAEMON_SLURM_PARTITIONS_H
#define PHASED_DAEMON_SLURM_PARTITIONS_H

#include "daemon/slurm/versions.h"

#include <stdint.h>

struct partitions {
    partition_info_msg_t *loaded; /* NULL: not told yet */
    int64_t loaded_s;
};

/* The longest time, in minutes, that a job may ask for in one of these partitions, named with
 * commas between; NULL: the default one. UINT32_MAX: there is no limit, or it is not known. */
uint32_t partitions_limit(struct partitions *partitions, const char *names, int64_t now_s);
void partitions_fini(struct partitions *partitions);

#endif
