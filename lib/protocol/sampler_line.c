/* Reads and writes the lines of the sampler, and samples. */
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

static const struct member sample_members[] = {
    MEMBER(sample, time, OPTIONAL),
    MEMBER(sample, gpus, OPTIONAL),
#define X(symbol, name, kind, dcgm, what)                                                          \
    MEMBER_ROW(sample, columns[GPU_##symbol], #name, OPTIONAL, .otherwise = 0),
    GPU_COLUMNS(X)
#undef X
        MEMBER(sample, from, OPTIONAL),
    MEMBER(sample, seconds, OPTIONAL),
    MEMBER_OR(sample, sampled, OPTIONAL, -1),
    {0},
};

MEMBERS_READ(sampler_line)
MEMBERS_TO_JSON(sampler_line)
MEMBERS_READ(gpu_devices)
MEMBERS_TO_JSON(gpu_devices)
MEMBERS_READ(sample)
MEMBERS_TO_JSON(sample)
