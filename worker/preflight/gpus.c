/* Reads the state of the GPUs from NVML. */
#include "worker/preflight/gpus.h"

#include "lib/error.h"
#include "worker/nvml.h"
#include "worker/preflight/facts.h"

#include <errno.h>
#include <stdio.h>

static struct fact fact_of(uint64_t value)
{
    return (struct fact){.is_known = true, .value = value};
}

/* Any call may be the first to find that the GPU is gone. Then all earlier answers do not count. */
static bool gpus_ok(const struct nvml *nvml, struct fact_gpu *gpu, int status)
{
    if (status == NVML_GPU_IS_LOST || status == NVML_RESET_REQUIRED) {
        gpu->is_lost = true;
        (void)snprintf(gpu->trouble, sizeof gpu->trouble, "%s", nvml_message(nvml, status));
    }
    return status == NVML_SUCCESS;
}

static void gpus_read_place(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    struct nvml_pci pci = {0};
    if (nvml->pci && gpus_ok(nvml, gpu, nvml->pci(device, &pci)))
        gpu->place = fact_of(fact_place(pci.domain, pci.bus, pci.device));
}

static void gpus_read_device(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    unsigned minor = 0, current = 0, pending = 0;
    if (nvml->minor && gpus_ok(nvml, gpu, nvml->minor(device, &minor)))
        gpu->minor = fact_of(minor);
    if (nvml->mig_mode && gpus_ok(nvml, gpu, nvml->mig_mode(device, &current, &pending)))
        gpu->mig_mode = fact_of(current);
}

static void gpus_read_memory(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    unsigned long long used, total;
    if (gpus_ok(nvml, gpu, nvml_memory_of(nvml, device, &used, &total))) {
        gpu->memory_total_mib = fact_of(total >> 20);
        gpu->memory_used_mib = fact_of(used >> 20);
    }
}

static void gpus_read_processes(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    struct nvml_process processes[FACTS_PROCESSES_MAX];
    unsigned count = FACTS_PROCESSES_MAX;
    if (!nvml->processes)
        return;
    int status = nvml->processes(device, &count, processes);
    /* If there are too many processes for the array, they are only counted, and no pid is known. */
    if (status == NVML_INSUFFICIENT_SIZE)
        gpu->process_count = fact_of(count);
    if (!gpus_ok(nvml, gpu, status))
        return;
    if (count > FACTS_PROCESSES_MAX)
        count = FACTS_PROCESSES_MAX;
    gpu->process_count = fact_of(count);
    for (unsigned i = 0; i < count; i++)
        gpu->processes[i] = processes[i].pid;
}

static void gpus_read_health(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    unsigned long long errors = 0;
    if (nvml->ecc &&
        gpus_ok(nvml, gpu, nvml->ecc(device, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &errors)))
        gpu->ecc_uncorrected = fact_of(errors);
    unsigned corrected, uncorrected, pending = 0, failed = 0;
    if (nvml->remapped &&
        gpus_ok(nvml, gpu, nvml->remapped(device, &corrected, &uncorrected, &pending, &failed))) {
        gpu->remap_pending = fact_of(pending);
        gpu->remap_failed = fact_of(failed);
    }
    struct nvml_field field = {.id = NVML_FIELD_RECOVERY_ACTION};
    if (nvml->fields && gpus_ok(nvml, gpu, nvml->fields(device, 1, &field)) &&
        gpus_ok(nvml, gpu, field.status))
        gpu->recovery_action = fact_of(field.value.as_unsigned);
}

static void gpus_read_links(const struct nvml *nvml, void *device, struct fact_gpu *gpu)
{
    unsigned active = 0, inactive = 0;
    for (unsigned i = 0; nvml->link && i < FACTS_LINKS_MAX; i++) {
        int is_active = 0;
        if (!gpus_ok(nvml, gpu, nvml->link(device, i, &is_active)))
            continue;
        active += is_active != 0;
        inactive += is_active == 0;
    }
    /* A GPU without NVLink refuses every link number. That is not a count of 0. */
    if (active + inactive) {
        gpu->links_active = fact_of(active);
        gpu->links_inactive = fact_of(inactive);
    }
}

static void gpus_read_gpu(const struct nvml *nvml, struct fact_gpu *gpu)
{
    void *device = NULL;
    int status = nvml->handle(gpu->index, &device);
    if (status != NVML_SUCCESS) {
        gpu->is_lost = true;
        (void)snprintf(gpu->trouble, sizeof gpu->trouble, "%s", nvml_message(nvml, status));
        return;
    }
    if (!nvml->name || !gpus_ok(nvml, gpu, nvml->name(device, gpu->name, sizeof gpu->name)))
        gpu->name[0] = '\0';
    if (!nvml->uuid || !gpus_ok(nvml, gpu, nvml->uuid(device, gpu->uuid, sizeof gpu->uuid)))
        gpu->uuid[0] = '\0';
    gpus_read_place(nvml, device, gpu);
    gpus_read_device(nvml, device, gpu);
    gpus_read_memory(nvml, device, gpu);
    gpus_read_processes(nvml, device, gpu);
    gpus_read_health(nvml, device, gpu);
    gpus_read_links(nvml, device, gpu);
}

void gpus_find(const char *path, struct facts *facts)
{
    struct nvml nvml;
    struct error err;
    unsigned count = 0;
    int status = nvml_open(path, &nvml, &count, &err);
    if (status < 0) {
        facts->driver = status == -ENODEV ? FACTS_DRIVER_ABSENT : FACTS_DRIVER_FAILS;
        (void)snprintf(facts->driver_trouble, sizeof facts->driver_trouble, "%.*s",
                       FACTS_TEXT_SIZE - 1, err.message);
        return;
    }
    facts->driver = FACTS_DRIVER_WORKS;
    facts->gpu_count = count < FACTS_GPUS_MAX ? count : FACTS_GPUS_MAX;
    for (unsigned i = 0; i < facts->gpu_count; i++) {
        facts->gpus[i].index = i;
        gpus_read_gpu(&nvml, &facts->gpus[i]);
    }
    if (nvml.shutdown)
        (void)nvml.shutdown(); /* nothing of the library is used any more */
}
