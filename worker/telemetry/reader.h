/* Reads the GPUs of a node through NVML (worker/nvml.h), second by second. A GPU that falls off the
 * bus is told once, and then left alone: the others are still read. Any call may hang for ever. */
#ifndef PHASED_WORKER_TELEMETRY_READER_H
#define PHASED_WORKER_TELEMETRY_READER_H

#include <jansson.h>

struct error;
struct gpu_second;
struct reader;

struct reader_listener {
    void (*lost)(void *context, unsigned gpu, const char *why);
    /* The driver reported an error. Of several of one GPU in one second the last one is told. */
    void (*xid)(void *context, unsigned gpu, unsigned number);
    void *context;
};

/* `path` is the driver's library, NULL the usual one; `devices` a list as CUDA_VISIBLE_DEVICES has
 * it, NULL all. -ENODEV: there is no driver here, or no GPU. -EIO: the driver fails. */
int reader_open(const char *path, const char *devices, const struct reader_listener *listener,
                struct reader **ret_reader, struct error *err);
void reader_close(struct reader *reader);

/* {"devices": {"gpus": [0, 1], "models": ["NVIDIA H200", ...], "uuids": [...], "memory_mib":
 * [...]}} with null for what is not told; a new object. */
json_t *reader_devices(const struct reader *reader);

/* What the GPUs do now, but its time. */
void reader_read(struct reader *reader, struct gpu_second *ret_second);

#endif
