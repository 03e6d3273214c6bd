/* The facts of a node's GPUs, from NVML (worker/nvml.h). A value that the GPU does not support is
 * absent. A wedged GPU may block the caller forever: see worker/preflight/driver.h. */
#ifndef PHASED_WORKER_PREFLIGHT_GPUS_H
#define PHASED_WORKER_PREFLIGHT_GPUS_H

struct facts;

/* Fills `driver` and `gpus` of `facts` from the library at `path` (NULL: libnvidia-ml.so.1). */
void gpus_find(const char *path, struct facts *facts);

#endif
