/* Reads and writes the lines of the sampler. */
#include "lib/protocol/sampler_line.h"

#include "lib/protocol/members.h"

static const struct member sampler_line_members[] = {
    MEMBER(sampler_line, pid, OPTIONAL),
    MEMBER(sampler_line, devices, OPTIONAL),
    MEMBER_OR(sampler_line, lost, OPTIONAL, -1),
    MEMBER(sampler_line, why, OPTIONAL),
    MEMBER_OR(sampler_line, xid, OPTIONAL, -1),
    MEMBER_OR(sampler_line, gpu, OPTIONAL, -1),
    MEMBER(sampler_line, absent, OPTIONAL),
    MEMBER(sampler_line, trouble, OPTIONAL),
    {0},
};

static const struct member gpu_devices_members[] = {
    MEMBER(gpu_devices, gpus, ALWAYS),
    MEMBER(gpu_devices, models, ALWAYS),
    MEMBER(gpu_devices, uuids, ALWAYS),
    MEMBER(gpu_devices, memory_mib, ALWAYS),
    {0},
};

MEMBERS_READ(sampler_line)
MEMBERS_TO_JSON(sampler_line)
MEMBERS_READ(gpu_devices)
MEMBERS_TO_JSON(gpu_devices)
