/* hardware.json in the folder of a run, and `hardware` in its `started`: the GPU that was found. */
#ifndef PHASED_LIB_PROTOCOL_HARDWARE_H
#define PHASED_LIB_PROTOCOL_HARDWARE_H

#include <jansson.h>

struct hardware {
    const char *model;  /* NULL: unknown */
    double memory_gib;  /* 0: unknown */
    const char *source; /* "driver" or "slurm"; NULL: nobody could say */
    const char *by_gpu; /* the part of the spec for this GPU; NULL: no part fits */
};

/* Reads the object, which may be any JSON. The result borrows from it. */
struct hardware hardware_read(const json_t *json);
/* A new reference; NULL: a text is not UTF-8. */
json_t *hardware_to_json(const struct hardware *hardware);

#endif
