/* NVML through dlopen(), with declarations of our own. So the programs start on nodes without a
 * driver, and are built without NVIDIA's headers. The layouts and numbers are those of nvml.h, and
 * NVIDIA keeps this ABI. The version of a struct contains the size of the struct.
 *
 * Only the needed functions are always there. Another function is NULL if the driver lacks it. Any
 * call may return NVML_NOT_SUPPORTED, which is normal. A call may block forever on a wedged GPU,
 * and no signal ends the call. So call NVML only in a process that can be left behind, and only in
 * one thread. */
#ifndef PHASED_WORKER_NVML_H
#define PHASED_WORKER_NVML_H

#include <stdbool.h>

struct error;

enum nvml_status {
    NVML_SUCCESS = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
};

enum {
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    NVML_FIELD_RECOVERY_ACTION = 230,
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_ECC_CORRECTED = 0,
    NVML_ECC_UNCORRECTED = 1,
    NVML_ECC_VOLATILE = 0,
    NVML_EVENT_XID = 8,
    NVML_GPM_SM_ACTIVE = 2, /* percent, like the next two */
    NVML_GPM_TENSOR_ACTIVE = 5,
    NVML_GPM_DRAM_ACTIVE = 10,
    NVML_GPM_VERSION = 1,       /* of both structs of GPM */
    NVML_GPM_METRICS_MAX = 512, /* 98 to 333 in nvml.h, depending on the version */
};

struct nvml_memory { /* in version 1, memory that the driver reserves counts as used */
    unsigned long long total, free, used;
};

struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2U << 24)

struct nvml_pci {
    char legacy_address[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
};

struct nvml_process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

struct nvml_utilization { /* percent */
    unsigned gpu, memory;
};

struct nvml_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned value_type;
    int status;
    union {
        double as_double;
        unsigned as_unsigned;
        unsigned long long as_long;
    } value;
};

struct nvml_event {
    void *device;
    unsigned long long type, data; /* for an XID, its number; 999: unknown */
    unsigned gpu_instance, compute_instance;
};

struct nvml_gpm_support {
    unsigned version, is_supported;
};

struct nvml_gpm_metric {
    unsigned id;
    int status;
    double value;
    const char *short_name, *long_name, *unit;
};

struct nvml_gpm_metrics {
    unsigned version, count;
    void *before, *after; /* samples */
    struct nvml_gpm_metric metrics[NVML_GPM_METRICS_MAX];
};

/* {member, symbol, whether it is needed, parameters} */
#define NVML_FUNCTIONS(X)                                                                          \
    X(init, nvmlInit_v2, true, (void))                                                             \
    X(shutdown, nvmlShutdown, false, (void))                                                       \
    X(count, nvmlDeviceGetCount_v2, true, (unsigned *))                                            \
    X(handle, nvmlDeviceGetHandleByIndex_v2, true, (unsigned, void **))                            \
    X(name, nvmlDeviceGetName, false, (void *, char *, unsigned))                                  \
    X(uuid, nvmlDeviceGetUUID, false, (void *, char *, unsigned))                                  \
    X(minor, nvmlDeviceGetMinorNumber, false, (void *, unsigned *))                                \
    X(mig_mode, nvmlDeviceGetMigMode, false, (void *, unsigned *, unsigned *))                     \
    X(pci, nvmlDeviceGetPciInfo_v3, false, (void *, struct nvml_pci *))                            \
    X(memory, nvmlDeviceGetMemoryInfo, false, (void *, struct nvml_memory *))                      \
    X(memory_v2, nvmlDeviceGetMemoryInfo_v2, false, (void *, struct nvml_memory_v2 *))             \
    X(processes, nvmlDeviceGetComputeRunningProcesses_v3, false,                                   \
      (void *, unsigned *, struct nvml_process *))                                                 \
    X(ecc, nvmlDeviceGetTotalEccErrors, false, (void *, int, int, unsigned long long *))           \
    X(remapped, nvmlDeviceGetRemappedRows, false,                                                  \
      (void *, unsigned *, unsigned *, unsigned *, unsigned *))                                    \
    X(fields, nvmlDeviceGetFieldValues, false, (void *, int, struct nvml_field *))                 \
    X(link, nvmlDeviceGetNvLinkState, false, (void *, unsigned, int *))                            \
    X(utilization, nvmlDeviceGetUtilizationRates, false, (void *, struct nvml_utilization *))      \
    X(power, nvmlDeviceGetPowerUsage, false, (void *, unsigned *))                                 \
    X(temperature, nvmlDeviceGetTemperature, false, (void *, int, unsigned *))                     \
    X(clock, nvmlDeviceGetClockInfo, false, (void *, int, unsigned *))                             \
    X(clock_reasons, nvmlDeviceGetCurrentClocksEventReasons, false,                                \
      (void *, unsigned long long *))                                                              \
    X(throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons, false,                          \
      (void *, unsigned long long *)) /* the old name */                                           \
    X(events_new, nvmlEventSetCreate, false, (void **))                                            \
    X(events_register, nvmlDeviceRegisterEvents, false, (void *, unsigned long long, void *))      \
    X(events_wait, nvmlEventSetWait_v2, false, (void *, struct nvml_event *, unsigned))            \
    X(gpm_support, nvmlGpmQueryDeviceSupport, false, (void *, struct nvml_gpm_support *))          \
    X(gpm_new, nvmlGpmSampleAlloc, false, (void **))                                               \
    X(gpm_sample, nvmlGpmSampleGet, false, (void *, void *))                                       \
    X(gpm_metrics, nvmlGpmMetricsGet, false, (struct nvml_gpm_metrics *))

/* Each function returns an enum nvml_status. */
struct nvml {
#define X(member, symbol, is_needed, parameters) int(*member) parameters;
    NVML_FUNCTIONS(X)
#undef X
    const char *(*error_string)(int);
};

/* Loads the library at `path` (NULL: libnvidia-ml.so.1), for good, as NCCL does. Then initialises
 * it and counts the GPUs. -ENODEV: there is no driver. -EIO: the driver fails. */
int nvml_open(const char *path, struct nvml *ret_nvml, unsigned *ret_count, struct error *err);

/* Returns the driver's text for this status; never NULL. */
const char *nvml_message(const struct nvml *nvml, int status);

/* Reads the used and the total bytes of a GPU's memory. Memory that the driver reserves does not
 * count as used if the driver tells it. Returns an enum nvml_status. */
int nvml_memory_of(const struct nvml *nvml, void *device, unsigned long long *ret_used,
                   unsigned long long *ret_total);

#endif
