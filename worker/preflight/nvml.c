/* Reads the GPUs' state from NVML. The layouts and numbers are those of nvml.h, whose ABI NVIDIA
 * keeps; structs with a version say their size in it. */
#include "worker/preflight/nvml.h"

#include "worker/preflight/facts.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum nvml_status {
    NVML_SUCCESS = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
};

enum {
    NVML_FIELD_RECOVERY_ACTION = 230,
    NVML_ECC_UNCORRECTED = 1,
    NVML_ECC_VOLATILE = 0,
};

struct nvml_memory { /* version 1 counts what the driver reserves as used */
    unsigned long long total, free, used;
};

struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
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

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*uuid)(void *, char *, unsigned);
    int (*memory)(void *, struct nvml_memory *);
    int (*memory_v2)(void *, struct nvml_memory_v2 *);
    int (*processes)(void *, unsigned *, struct nvml_process *);
    int (*ecc)(void *, int, int, unsigned long long *);
    int (*remapped)(void *, unsigned *, unsigned *, unsigned *, unsigned *);
    int (*fields)(void *, int, struct nvml_field *);
    int (*link)(void *, unsigned, int *);
};

/* Where each symbol goes, and whether nothing can be told without it. */
static const struct {
    const char *name;
    size_t offset;
    bool is_needed;
} nvml_symbols[] = {
    {"nvmlInit_v2", offsetof(struct nvml, init), true},
    {"nvmlShutdown", offsetof(struct nvml, shutdown), false},
    {"nvmlErrorString", offsetof(struct nvml, error_string), false},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml, count), true},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, handle), true},
    {"nvmlDeviceGetName", offsetof(struct nvml, name), false},
    {"nvmlDeviceGetUUID", offsetof(struct nvml, uuid), false},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory), false},
    {"nvmlDeviceGetMemoryInfo_v2", offsetof(struct nvml, memory_v2), false},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct nvml, processes), false},
    {"nvmlDeviceGetTotalEccErrors", offsetof(struct nvml, ecc), false},
    {"nvmlDeviceGetRemappedRows", offsetof(struct nvml, remapped), false},
    {"nvmlDeviceGetFieldValues", offsetof(struct nvml, fields), false},
    {"nvmlDeviceGetNvLinkState", offsetof(struct nvml, link), false},
};

/* Returns the name of a needed symbol that is missing; NULL when all are there. */
static const char *nvml_load(struct nvml *nvml, void *library)
{
    for (size_t i = 0; i < sizeof nvml_symbols / sizeof *nvml_symbols; i++) {
        void *symbol = dlsym(library, nvml_symbols[i].name);
        if (!symbol && nvml_symbols[i].is_needed)
            return nvml_symbols[i].name;
        memcpy((char *)nvml + nvml_symbols[i].offset, &symbol, sizeof symbol);
    }
    return NULL;
}

static const char *nvml_error(const struct nvml *nvml, int status)
{
    const char *message = nvml->error_string ? nvml->error_string(status) : NULL;
    return message ? message : "an error without a name";
}

static struct fact fact_of(uint64_t value)
{
    return (struct fact){.is_known = true, .value = value};
}

/* Any call may be the first to find that the GPU is gone; that outweighs all it said before. */
static bool nvml_ok(const struct nvml *nvml, struct fact_gpu *gpu, int status)
{
    if (status == NVML_GPU_IS_LOST || status == NVML_RESET_REQUIRED) {
        gpu->is_lost = true;
        (void)snprintf(gpu->trouble, sizeof gpu->trouble, "%s", nvml_error(nvml, status));
    }
    return status == NVML_SUCCESS;
}

static void nvml_read_memory(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    struct nvml_memory_v2 v2 = {.version = sizeof v2 | 2U << 24};
    if (nvml->memory_v2 && nvml_ok(nvml, gpu, nvml->memory_v2(device, &v2))) {
        gpu->memory_total_mib = fact_of(v2.total >> 20);
        gpu->memory_used_mib = fact_of(v2.used >> 20);
        return;
    }
    struct nvml_memory v1 = {0};
    if (nvml->memory && nvml_ok(nvml, gpu, nvml->memory(device, &v1))) {
        gpu->memory_total_mib = fact_of(v1.total >> 20);
        gpu->memory_used_mib = fact_of(v1.used >> 20);
    }
}

static void nvml_read_processes(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    struct nvml_process processes[FACTS_PROCESSES_MAX];
    unsigned count = FACTS_PROCESSES_MAX;
    if (!nvml->processes)
        return;
    int status = nvml->processes(device, &count, processes);
    /* Too many for the array are still counted, and none of them is told. */
    if (status == NVML_INSUFFICIENT_SIZE)
        gpu->process_count = fact_of(count);
    if (!nvml_ok(nvml, gpu, status))
        return;
    if (count > FACTS_PROCESSES_MAX)
        count = FACTS_PROCESSES_MAX;
    gpu->process_count = fact_of(count);
    for (unsigned i = 0; i < count; i++)
        gpu->processes[i] = processes[i].pid;
}

static void nvml_read_health(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    unsigned long long errors = 0;
    if (nvml->ecc &&
        nvml_ok(nvml, gpu, nvml->ecc(device, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &errors)))
        gpu->ecc_uncorrected = fact_of(errors);
    unsigned corrected, uncorrected, pending = 0, failed = 0;
    if (nvml->remapped &&
        nvml_ok(nvml, gpu, nvml->remapped(device, &corrected, &uncorrected, &pending, &failed))) {
        gpu->remap_pending = fact_of(pending);
        gpu->remap_failed = fact_of(failed);
    }
    struct nvml_field field = {.id = NVML_FIELD_RECOVERY_ACTION};
    if (nvml->fields && nvml_ok(nvml, gpu, nvml->fields(device, 1, &field)) &&
        nvml_ok(nvml, gpu, field.status))
        gpu->recovery_action = fact_of(field.value.as_unsigned);
}

static void nvml_read_links(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    unsigned active = 0, inactive = 0;
    for (unsigned i = 0; nvml->link && i < FACTS_LINKS_MAX; i++) {
        int is_active = 0;
        if (!nvml_ok(nvml, gpu, nvml->link(device, i, &is_active)))
            continue;
        active += is_active != 0;
        inactive += is_active == 0;
    }
    /* A GPU without NVLink refuses every number: that is no count of 0. */
    if (active + inactive) {
        gpu->links_active = fact_of(active);
        gpu->links_inactive = fact_of(inactive);
    }
}

static void nvml_read_gpu(const struct nvml *nvml, struct fact_gpu *gpu)
{
    void *device = NULL;
    int status = nvml->handle(gpu->index, &device);
    if (status != NVML_SUCCESS) {
        gpu->is_lost = true;
        (void)snprintf(gpu->trouble, sizeof gpu->trouble, "%s", nvml_error(nvml, status));
        return;
    }
    if (!nvml->name || !nvml_ok(nvml, gpu, nvml->name(device, gpu->name, sizeof gpu->name)))
        gpu->name[0] = '\0';
    if (!nvml->uuid || !nvml_ok(nvml, gpu, nvml->uuid(device, gpu->uuid, sizeof gpu->uuid)))
        gpu->uuid[0] = '\0';
    nvml_read_memory(nvml, device, gpu);
    nvml_read_processes(nvml, device, gpu);
    nvml_read_health(nvml, device, gpu);
    nvml_read_links(nvml, device, gpu);
}

static void nvml_fail(struct facts *facts, enum facts_driver driver, const char *what,
                      const char *why)
{
    facts->driver = driver;
    (void)snprintf(facts->driver_trouble, sizeof facts->driver_trouble, "%s: %s", what, why);
}

void nvml_read(const char *path, struct facts *facts)
{
    struct nvml nvml = {0};
    const char *name = path ? path : "libnvidia-ml.so.1";
    /* Never closed: NCCL does the same, and the process is about to end. */
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        nvml_fail(facts, FACTS_DRIVER_ABSENT, name, "cannot be loaded");
        return;
    }
    const char *missing = nvml_load(&nvml, library);
    if (missing) {
        nvml_fail(facts, FACTS_DRIVER_ABSENT, missing, "missing in the driver's library");
        return;
    }
    int status = nvml.init();
    if (status != NVML_SUCCESS) {
        nvml_fail(facts,
                  status == NVML_DRIVER_NOT_LOADED ? FACTS_DRIVER_ABSENT : FACTS_DRIVER_FAILS,
                  "nvmlInit", nvml_error(&nvml, status));
        return;
    }
    unsigned count = 0;
    status = nvml.count(&count);
    if (status != NVML_SUCCESS) {
        nvml_fail(facts, FACTS_DRIVER_FAILS, "nvmlDeviceGetCount", nvml_error(&nvml, status));
    } else {
        facts->driver = FACTS_DRIVER_WORKS;
        facts->gpu_count = count < FACTS_GPUS_MAX ? count : FACTS_GPUS_MAX;
        for (unsigned i = 0; i < facts->gpu_count; i++) {
            facts->gpus[i].index = i;
            nvml_read_gpu(&nvml, &facts->gpus[i]);
        }
    }
    if (nvml.shutdown)
        (void)nvml.shutdown(); /* nothing of it is used any more */
}
