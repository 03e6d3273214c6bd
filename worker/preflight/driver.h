/* Asks the driver with a deadline. If a GPU is wedged, a call of the driver may block forever, and
 * no signal ends it. So a child makes the call. If it does not answer, it is left behind. */
#ifndef PHASED_WORKER_PREFLIGHT_DRIVER_H
#define PHASED_WORKER_PREFLIGHT_DRIVER_H

struct facts;

/* Fills `driver` and `gpus` of `facts`; `nvml_path` as for gpus_find(). */
void driver_read(const char *nvml_path, int deadline_ms, struct facts *facts);

#endif
