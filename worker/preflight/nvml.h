/* NVML through dlopen, with declarations of our own: the program starts on nodes without a driver,
 * and is built without NVIDIA's headers.
 *
 * Any symbol but the first few may be missing (older drivers), and any call may say NOT_SUPPORTED:
 * the fact is then absent. The calls may hang for ever on a wedged GPU, so only a child that can be
 * left behind makes them (worker/preflight/driver.h). */
#ifndef PHASED_WORKER_PREFLIGHT_NVML_H
#define PHASED_WORKER_PREFLIGHT_NVML_H

struct facts;

/* Fills `driver` and `gpus` of `facts` from the library at `path` (NULL: libnvidia-ml.so.1). */
void nvml_read(const char *path, struct facts *facts);

#endif
