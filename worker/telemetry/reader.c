/* Reads GPUs through NVML. */
#include "worker/telemetry/reader.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/sampler_line.h"
#include "worker/gpu_list.h"
#include "worker/nvml.h"
#include "worker/telemetry/second.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { READER_TEXT_SIZE = 96, READER_EVENTS_MAX = 64 };

struct reader_gpu {
    unsigned number;
    void *device;
    bool is_lost;
    double xid;                   /* NaN: the driver has reported no XID */
    void *gpm_before, *gpm_after; /* samples of counters; NULL: not supported */
    bool has_before;
    double *values[GPU_COLUMN_COUNT]; /* in the current second */
};

struct reader {
    struct nvml nvml;
    struct reader_listener listener;
    void *events; /* or NULL */
    unsigned count;
    struct reader_gpu gpus[SECOND_GPUS_MAX];
    struct nvml_gpm_metrics gpm; /* too large for the stack */
};

/* The GPU is not asked any more. */
static void reader_lose(struct reader *reader, struct reader_gpu *gpu, int status)
{
    gpu->is_lost = true;
    reader->listener.lost(reader->listener.context, gpu->number,
                          nvml_message(&reader->nvml, status));
}

/* Any call may be the first that finds a lost GPU. */
static bool reader_ok(struct reader *reader, struct reader_gpu *gpu, int status)
{
    bool is_lost = status == NVML_GPU_IS_LOST || status == NVML_RESET_REQUIRED;
    if (is_lost && !gpu->is_lost)
        reader_lose(reader, gpu, status);
    return status == NVML_SUCCESS;
}

/* --- Which GPUs ------------------------------------------------------------------------------- */

static bool reader_is_meant(struct reader *reader, const char *devices, unsigned number,
                            void *device)
{
    const struct nvml *nvml = &reader->nvml;
    char uuid[READER_TEXT_SIZE], name[GPU_LIST_NAME_SIZE];
    if (!devices)
        return true;
    if (!nvml->uuid || nvml->uuid(device, uuid, sizeof uuid) != NVML_SUCCESS)
        uuid[0] = '\0';
    while (gpu_list_next(&devices, name))
        if (gpu_list_names(name, number, uuid))
            return true;
    return false;
}

static void reader_open_gpm(struct reader *reader, struct reader_gpu *gpu)
{
    const struct nvml *nvml = &reader->nvml;
    struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
    if (!nvml->gpm_support || !nvml->gpm_new || !nvml->gpm_sample || !nvml->gpm_metrics ||
        !reader_ok(reader, gpu, nvml->gpm_support(gpu->device, &support)) || !support.is_supported)
        return;
    void *before = NULL, *after = NULL;
    if (nvml->gpm_new(&before) != NVML_SUCCESS || nvml->gpm_new(&after) != NVML_SUCCESS)
        return; /* never freed, because the process ends with the reader */
    gpu->gpm_before = before;
    gpu->gpm_after = after;
}

static void reader_open_gpus(struct reader *reader, const char *devices, unsigned count)
{
    const struct nvml *nvml = &reader->nvml;
    if (nvml->events_new && nvml->events_register && nvml->events_wait &&
        nvml->events_new(&reader->events) != NVML_SUCCESS)
        reader->events = NULL;
    for (unsigned number = 0; number < count && reader->count < SECOND_GPUS_MAX; number++) {
        struct reader_gpu *gpu = &reader->gpus[reader->count];
        *gpu = (struct reader_gpu){.number = number, .xid = NAN};
        int status = nvml->handle(number, &gpu->device);
        /* A GPU without a handle cannot be asked for its UUID. It counts only if there is no list.
         */
        if (status == NVML_SUCCESS ? !reader_is_meant(reader, devices, number, gpu->device)
                                   : devices != NULL)
            continue;
        reader->count++;
        if (status != NVML_SUCCESS) {
            reader_lose(reader, gpu, status);
            continue;
        }
        reader_open_gpm(reader, gpu);
        if (reader->events)
            (void)nvml->events_register(gpu->device, NVML_EVENT_XID, reader->events);
    }
}

int reader_open(const char *path, const char *devices, const struct reader_listener *listener,
                struct reader **ret_reader, struct error *err)
{
    struct reader *reader = xcalloc(1, sizeof *reader);
    reader->listener = *listener;
    unsigned count = 0;
    int status = nvml_open(path, &reader->nvml, &count, err);
    if (status == 0)
        reader_open_gpus(reader, devices, count);
    if (status == 0 && !reader->count)
        status = error_set(err, -ENODEV, "the node has %u GPUs, but no GPU is allocated", count);
    if (status < 0) {
        reader_close(reader);
        return status;
    }
    *ret_reader = reader;
    return 0;
}

void reader_close(struct reader *reader)
{
    free(reader);
}

static void reader_append(json_t *list, json_t *value)
{
    json_array_append_new(
        list, value ? value : json_null()); /* null also stands for text that is not UTF-8 */
}

json_t *reader_devices(const struct reader *reader)
{
    const struct nvml *nvml = &reader->nvml;
    struct gpu_devices devices = {json_array(), json_array(), json_array(), json_array()};
    for (unsigned i = 0; i < reader->count; i++) {
        const struct reader_gpu *gpu = &reader->gpus[i];
        char text[READER_TEXT_SIZE];
        unsigned long long used, total;
        json_t *model = NULL, *uuid = NULL, *mib = NULL;
        if (!gpu->is_lost && nvml->name &&
            nvml->name(gpu->device, text, sizeof text) == NVML_SUCCESS)
            model = json_string(text);
        if (!gpu->is_lost && nvml->uuid &&
            nvml->uuid(gpu->device, text, sizeof text) == NVML_SUCCESS)
            uuid = json_string(text);
        if (!gpu->is_lost && nvml_memory_of(nvml, gpu->device, &used, &total) == NVML_SUCCESS)
            mib = json_integer((json_int_t)(total >> 20));
        reader_append(devices.gpus, json_integer((json_int_t)gpu->number));
        reader_append(devices.models, model);
        reader_append(devices.uuids, uuid);
        reader_append(devices.memory_mib, mib);
    }
    json_t *json = gpu_devices_to_json(&devices);
    json_decref(devices.gpus);
    json_decref(devices.models);
    json_decref(devices.uuids);
    json_decref(devices.memory_mib);
    return json;
}

/* --- One second ------------------------------------------------------------------------------- */

static void reader_read_load(struct reader *reader, struct reader_gpu *gpu)
{
    const struct nvml *nvml = &reader->nvml;
    struct nvml_utilization utilization;
    unsigned long long used, total;
    unsigned milliwatts;
    if (nvml->utilization && reader_ok(reader, gpu, nvml->utilization(gpu->device, &utilization))) {
        *gpu->values[GPU_UTIL] = utilization.gpu;
        *gpu->values[GPU_MEMORY_UTIL] = utilization.memory;
    }
    if (reader_ok(reader, gpu, nvml_memory_of(nvml, gpu->device, &used, &total)))
        *gpu->values[GPU_MEMORY] = (double)(used >> 20);
    if (nvml->power && reader_ok(reader, gpu, nvml->power(gpu->device, &milliwatts)))
        *gpu->values[GPU_POWER] = milliwatts / 1000.0;
}

static void reader_read_state(struct reader *reader, struct reader_gpu *gpu)
{
    const struct nvml *nvml = &reader->nvml;
    struct nvml_field field = {.id = NVML_FIELD_MEMORY_TEMPERATURE};
    unsigned number;
    unsigned long long bits;
    if (nvml->temperature &&
        reader_ok(reader, gpu, nvml->temperature(gpu->device, NVML_TEMPERATURE_GPU, &number)))
        *gpu->values[GPU_TEMPERATURE] = number;
    if (nvml->fields && reader_ok(reader, gpu, nvml->fields(gpu->device, 1, &field)) &&
        reader_ok(reader, gpu, field.status))
        *gpu->values[GPU_MEMORY_TEMPERATURE] = field.value.as_unsigned;
    if (nvml->clock && reader_ok(reader, gpu, nvml->clock(gpu->device, NVML_CLOCK_SM, &number)))
        *gpu->values[GPU_SM_CLOCK] = number;
    if (nvml->clock && reader_ok(reader, gpu, nvml->clock(gpu->device, NVML_CLOCK_MEMORY, &number)))
        *gpu->values[GPU_MEMORY_CLOCK] = number;
    int (*reasons)(void *, unsigned long long *) =
        nvml->clock_reasons ? nvml->clock_reasons : nvml->throttle_reasons;
    if (reasons && reader_ok(reader, gpu, reasons(gpu->device, &bits)))
        *gpu->values[GPU_CLOCK_REASONS] = (double)bits;
}

static void reader_read_errors(struct reader *reader, struct reader_gpu *gpu)
{
    static const struct {
        int kind;
        enum gpu_column column;
    } rows[] = {{NVML_ECC_CORRECTED, GPU_ECC_CORRECTED},
                {NVML_ECC_UNCORRECTED, GPU_ECC_UNCORRECTED}};
    unsigned long long count;
    for (size_t i = 0; reader->nvml.ecc && i < sizeof rows / sizeof *rows; i++)
        if (reader_ok(reader, gpu,
                      reader->nvml.ecc(gpu->device, rows[i].kind, NVML_ECC_VOLATILE, &count)))
            *gpu->values[rows[i].column] = (double)count;
    *gpu->values[GPU_XID] = gpu->xid;
}

/* GPM compares the counters of two moments: a second ago, and now. */
static void reader_read_gpm(struct reader *reader, struct reader_gpu *gpu)
{
    static const struct {
        unsigned id;
        enum gpu_column column;
    } rows[] = {{NVML_GPM_SM_ACTIVE, GPU_SM_ACTIVE},
                {NVML_GPM_TENSOR_ACTIVE, GPU_TENSOR_ACTIVE},
                {NVML_GPM_DRAM_ACTIVE, GPU_DRAM_ACTIVE}};
    enum { COUNT = sizeof rows / sizeof *rows };
    struct nvml_gpm_metrics *gpm = &reader->gpm;
    if (!gpu->gpm_before ||
        !reader_ok(reader, gpu, reader->nvml.gpm_sample(gpu->device, gpu->gpm_after))) {
        gpu->has_before = false;
        return;
    }
    gpm->version = NVML_GPM_VERSION;
    gpm->count = COUNT;
    gpm->before = gpu->gpm_before;
    gpm->after = gpu->gpm_after;
    for (unsigned i = 0; i < COUNT; i++)
        gpm->metrics[i] = (struct nvml_gpm_metric){.id = rows[i].id};
    bool is_read = gpu->has_before && reader_ok(reader, gpu, reader->nvml.gpm_metrics(gpm));
    for (unsigned i = 0; is_read && i < COUNT; i++)
        if (gpm->metrics[i].status == NVML_SUCCESS && isfinite(gpm->metrics[i].value))
            *gpu->values[rows[i].column] = gpm->metrics[i].value;
    gpu->gpm_after = gpu->gpm_before;
    gpu->gpm_before = gpm->after;
    gpu->has_before = true;
}

static void reader_read_events(struct reader *reader)
{
    struct nvml_event event;
    for (unsigned i = 0; reader->events && i < READER_EVENTS_MAX; i++) {
        int status = reader->nvml.events_wait(reader->events, &event, 0);
        if (status != NVML_SUCCESS)
            return;
        for (unsigned gpu = 0; gpu < reader->count; gpu++) {
            struct reader_gpu *found = &reader->gpus[gpu];
            if (found->device != event.device || !(event.type & NVML_EVENT_XID))
                continue;
            found->xid = (double)event.data;
            reader->listener.xid(reader->listener.context, found->number, (unsigned)event.data);
        }
    }
}

void reader_read(struct reader *reader, struct gpu_second *ret_second)
{
    unsigned numbers[SECOND_GPUS_MAX];
    for (unsigned i = 0; i < reader->count; i++)
        numbers[i] = reader->gpus[i].number;
    second_init(ret_second, numbers, reader->count);
    reader_read_events(reader);
    for (unsigned i = 0; i < reader->count; i++) {
        struct reader_gpu *gpu = &reader->gpus[i];
        if (gpu->is_lost)
            continue;
        for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++)
            gpu->values[column] = &ret_second->values[column][i];
        reader_read_load(reader, gpu);
        reader_read_state(reader, gpu);
        reader_read_errors(reader, gpu);
        reader_read_gpm(reader, gpu);
    }
}
