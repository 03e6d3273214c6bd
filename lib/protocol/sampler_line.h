/* The lines of `phase-worker gpus`, which prints what the GPUs of a node do:
 *
 *   {"pid": 4711}                          if it is detached, before the driver is asked
 *   {"devices": {"gpus": [0, 1], "models": ["NVIDIA H200", null], ...}}
 *   {"time": ..., "gpus": [...], ...}      a second: a sample
 *   {"lost": 3, "why": "GPU is lost"}
 *   {"xid": 79, "gpu": 3}
 *   {"absent": "..."}, {"trouble": "..."}  the last line: there is no driver, or the driver fails
 */
#ifndef PHASED_LIB_PROTOCOL_SAMPLER_LINE_H
#define PHASED_LIB_PROTOCOL_SAMPLER_LINE_H

#include "lib/gpu_columns.h"

#include <jansson.h>
#include <stdint.h>

/* Any line but a second. */
struct sampler_line {
    int64_t pid;     /* 0: absent. A pointer that is absent is NULL */
    json_t *devices; /* a gpu_devices */
    int64_t lost;    /* the number of a GPU; -1: absent */
    const char *why;
    int64_t xid, gpu; /* -1: absent */
    const char *absent, *trouble;
};

/* Initialises what is -1 if it is absent. */
#define SAMPLER_LINE_NOTHING .lost = -1, .xid = -1, .gpu = -1

/* The GPUs, also in the entry `gpus` of the journal. Each member is a list with an item for each
 * GPU, which is null if it is unknown. */
struct gpu_devices {
    json_t *gpus; /* NVML's numbers, in the order of the bus */
    json_t *models, *uuids, *memory_mib;
};

/* What the GPUs did in a second or in a longer span: a second of the sampler, the entry `sample` of
 * the journal, and `gpus` of the entry `evidence`. */
struct sample {
    double time;                       /* of a second of the sampler; 0: absent */
    json_t *gpus;                      /* NVML's numbers, in the order of the bus */
    json_t *columns[GPU_COLUMN_COUNT]; /* a list with an item for each GPU; NULL: absent */
    int64_t from, seconds;             /* of an entry: since 1970, and how long; 0: absent */
    int64_t sampled;                   /* the number of samples; -1: absent, so one each second */
};

/* Reads a line, which may be any JSON. The result borrows from it. */
struct sampler_line sampler_line_read(const json_t *json);
/* A new reference; NULL: a text is not UTF-8. */
json_t *sampler_line_to_json(const struct sampler_line *line);

struct gpu_devices gpu_devices_read(const json_t *json);
json_t *gpu_devices_to_json(const struct gpu_devices *devices);

struct sample sample_read(const json_t *json);
json_t *sample_to_json(const struct sample *sample);

#endif
