/* Computes the place of a rank, and distributes GPUs and ports to groups. */
#include "worker/node/groups.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/node/rendezvous.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- The layout ------------------------------------------------------------------------------- */

struct placement placement_of(const struct assignment_sizes *sizes, unsigned rank)
{
    return (struct placement){
        .tensor = rank % sizes->tensor,
        .data = rank / sizes->tensor % sizes->data,
        .pipeline = rank / sizes->tensor / sizes->data,
    };
}

char *placement_devices(const char *list, unsigned first, unsigned count)
{
    const char *begin = list, *end;
    for (unsigned i = 0; i < first; i++) {
        begin = strchr(begin, ',');
        if (!begin)
            return NULL;
        begin++;
    }
    end = begin;
    for (unsigned i = 0; i < count; i++) {
        size_t size = strcspn(end, ",");
        if (size == 0)
            return NULL;
        end += size + (i + 1 < count);
        if (i + 1 < count && end[-1] != ',')
            return NULL;
    }
    return text_format("%.*s", (int)(end - begin), begin);
}

/* --- The groups of the node ------------------------------------------------------------------- */

/* Slurm sets each of these that the gres.conf of the site names. */
static const char *const groups_device_names[] = {
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
};

enum {
    GROUPS_DEVICE_NAMES = sizeof groups_device_names / sizeof(char *),
};

struct groups {
    unsigned count, gpus;             /* GPUs of each group */
    char *lists[GROUPS_DEVICE_NAMES]; /* of the node; NULL: the variable is not set */
    unsigned *ports;
};

/* Returns all GPUs that a program sees, from 0 on. The list is used if no variable names the
 * GPUs of the job. */
static char *groups_all_devices(unsigned count)
{
    struct text text = {0};
    for (unsigned i = 0; i < count; i++)
        text_addf(&text, "%s%u", i ? "," : "", i);
    return text_steal(&text);
}

void groups_narrow(struct environment *environment, unsigned first, unsigned count)
{
    const char *name = groups_device_names[0];
    if (!environment_get(environment, name) && count > 0) {
        char *all = groups_all_devices(first + count);
        environment_set(environment, name, all);
        free(all);
    }
    for (unsigned i = 0; i < GROUPS_DEVICE_NAMES; i++) {
        const char *list = environment_get(environment, groups_device_names[i]);
        char *part = list ? placement_devices(list, first, count) : NULL;
        if (list)
            environment_set(environment, groups_device_names[i], part ? part : "");
        free(part);
    }
}

static int groups_take_devices(struct groups *groups, const struct environment *environment,
                               struct error *err)
{
    unsigned needed = groups->count * groups->gpus;
    for (unsigned i = 0; i < GROUPS_DEVICE_NAMES; i++) {
        const char *list = environment_get(environment, groups_device_names[i]);
        char *whole = list ? placement_devices(list, 0, needed) : NULL;
        if (list && !whole)
            return error_set(err, -ENODEV, "%u groups of %u GPUs need %u, and %s is %s",
                             groups->count, groups->gpus, needed, groups_device_names[i], list);
        groups->lists[i] = whole;
    }
    if (!groups->lists[0])
        groups->lists[0] = groups_all_devices(needed);
    return 0;
}

int groups_new(const struct assignment *assignment, const struct environment *environment,
               struct groups **ret_groups, struct error *err)
{
    struct groups *groups = xcalloc(1, sizeof *groups);
    groups->count = assignment_ranks_per_node(assignment);
    groups->gpus = assignment->gpus / groups->count;
    groups->ports = xcalloc(groups->count, sizeof *groups->ports);
    int status = groups_take_devices(groups, environment, err);
    if (status == 0)
        status = rendezvous_pick_local(groups->ports, groups->count, err);
    if (status < 0) {
        groups_free(groups);
        return status;
    }
    *ret_groups = groups;
    return 0;
}

void groups_free(struct groups *groups)
{
    if (!groups)
        return;
    for (unsigned i = 0; i < GROUPS_DEVICE_NAMES; i++)
        free(groups->lists[i]);
    free(groups->ports);
    free(groups);
}

void groups_set_devices(const struct groups *groups, struct environment *environment,
                        unsigned local)
{
    for (unsigned i = 0; i < GROUPS_DEVICE_NAMES; i++) {
        const char *list = groups->lists[i];
        char *part = list ? placement_devices(list, local * groups->gpus, groups->gpus) : NULL;
        if (part)
            environment_set(environment, groups_device_names[i], part);
        free(part);
    }
}

unsigned groups_gpus(const struct groups *groups)
{
    return groups->gpus;
}

unsigned groups_port(const struct groups *groups, unsigned local)
{
    return groups->ports[local];
}
