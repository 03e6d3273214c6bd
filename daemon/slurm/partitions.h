/* The time limits of the cluster's partitions. They are at most half a minute old, while the
 * controller answers. Only the Slurm thread uses this. */
#ifndef PHASED_DAEMON_SLURM_PARTITIONS_H
#define PHASED_DAEMON_SLURM_PARTITIONS_H

#include "daemon/slurm/versions.h"

#include <stdint.h>

struct partitions {
    partition_info_msg_t *loaded; /* NULL: not loaded yet */
    int64_t asked_s;
};

/* Keeps what was just loaded, with all partitions, and frees what was kept before. */
void partitions_keep(struct partitions *partitions, partition_info_msg_t *loaded, int64_t now_s);

/* Returns the longest time, in minutes, that a job may ask for in one of these partitions. `names`
 * has commas between the names; NULL: the default partition. UINT32_MAX: there is no limit, or the
 * limit is unknown. */
uint32_t partitions_limit(struct partitions *partitions, const char *names, int64_t now_s);
void partitions_fini(struct partitions *partitions);

#endif
