/* Loads the partitions, and finds the limit of one. */
#include "daemon/slurm/partitions.h"

#include "lib/text.h"

#include <stdbool.h>

enum { PARTITIONS_AGE_MAX_S = 30 };

void partitions_keep(struct partitions *partitions, partition_info_msg_t *loaded, int64_t now_s)
{
    partitions_fini(partitions);
    partitions->loaded = loaded;
    partitions->asked_s = now_s;
}

/* The old answer is better than no answer. It is kept for another while, because each call to a
 * controller that does not answer takes long. */
static void partitions_load(struct partitions *partitions, int64_t now_s)
{
    partition_info_msg_t *loaded = NULL;
    int64_t age_s = now_s - partitions->asked_s;
    if (partitions->loaded && age_s >= 0 && age_s < PARTITIONS_AGE_MAX_S)
        return;
    if (slurm_load_partitions(0, &loaded, SHOW_ALL) == SLURM_SUCCESS)
        partitions_keep(partitions, loaded, now_s);
    else
        partitions->asked_s = now_s;
}

uint32_t partitions_limit(struct partitions *partitions, const char *names, int64_t now_s)
{
    uint32_t limit = 0;
    partitions_load(partitions, now_s);
    const partition_info_msg_t *loaded = partitions->loaded;
    for (uint32_t i = 0; loaded && i < loaded->record_count; i++) {
        const partition_info_t *partition = &loaded->partition_array[i];
        bool is_meant = names ? text_has_item(names, partition->name)
                              : (partition->flags & PART_FLAG_DEFAULT) != 0;
        if (!is_meant)
            continue;
        if (partition->max_time == INFINITE || partition->max_time == NO_VAL)
            return UINT32_MAX;
        if (partition->max_time > limit)
            limit = partition->max_time;
    }
    return limit ? limit : UINT32_MAX; /* the partition is unknown: Slurm will say so */
}

void partitions_fini(struct partitions *partitions)
{
    if (partitions->loaded)
        slurm_free_partition_info_msg(partitions->loaded);
    partitions->loaded = NULL;
}
