/* Reads the GPUs of a node through NVML (worker/nvml.h), second by second. A GPU that falls off the
 * bus, or has no handle, is reported once and then skipped; the others are still read. Any call may
 * block forever. */
#ifndef PHASED_WORKER_TELEMETRY_READER_H
#define PHASED_WORKER_TELEMETRY_READER_H

#include <jansson.h>

struct error;
struct gpu_second;
struct reader;

struct reader_listener {
    void (*lost)(void *context, unsigned gpu, const char *why);
    /* The driver reported an error. One GPU may have several errors in one second. */
    void (*xid)(void *context, unsigned gpu, unsigned number);
    void *context;
};

/* `path` is the driver's library, or NULL for the usual one. `devices` is a list as in
 * CUDA_VISIBLE_DEVICES, or NULL for all. -ENODEV: there is no driver or no GPU. -EIO: the driver
 * fails. */
int reader_open(const char *path, const char *devices, const struct reader_listener *listener,
                struct reader **ret_reader, struct error *err);
void reader_close(struct reader *reader);

/* Returns the JSON of a gpu_devices (lib/protocol/sampler_line.h); a new object. */
json_t *reader_devices(const struct reader *reader);

/* Reads the current values, without the time. */
void reader_read(struct reader *reader, struct gpu_second *ret_second);

#endif
