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

struct hardware hardware_read(const json_t *json)
{
    struct hardware hardware;
    members_read(hardware_members, json, &hardware);
    return hardware;
}

json_t *hardware_to_json(const struct hardware *hardware)
{
    return members_write(hardware_members, hardware, NULL);
}
