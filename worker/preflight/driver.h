/* Asks the driver with a deadline. A wedged GPU holds whoever asks in a call that no signal ends,
 * so a child asks, and is left behind when it does not answer. */
#ifndef PHASED_WORKER_PREFLIGHT_DRIVER_H
#define PHASED_WORKER_PREFLIGHT_DRIVER_H

struct facts;

/* Fills `driver` and `gpus` of `facts`; `nvml_path` as for gpus_read(). */
void driver_read(const char *nvml_path, int deadline_ms, struct facts *facts);

#endif
