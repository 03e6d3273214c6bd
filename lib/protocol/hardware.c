/* Reads and writes what was found of the GPU. */
#include "lib/protocol/hardware.h"

#include "lib/protocol/members.h"

static const struct member hardware_members[] = {
    MEMBER(hardware, model, OR_NULL),
    MEMBER(hardware, memory_gib, OR_NULL),
    MEMBER(hardware, source, OR_NULL),
    MEMBER(hardware, by_gpu, OR_NULL),
    {0},
};

MEMBERS_READ(hardware)
MEMBERS_TO_JSON(hardware)
