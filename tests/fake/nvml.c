/* A libnvidia-ml.so for tests: eight H200 with healthy values, unless FAKE_NVML lists faults,
 * separated by commas. FAKE_NVML_n2 replaces FAKE_NVML on the node n2. If FAKE_NVML_FILE names a
 * file, all words are read from that file at every call, so that a test can change them.
 *
 *   h100       the GPUs are H100
 *   count=7    there are seven GPUs
 *   lost=3     GPU 3 has fallen off the bus
 *   denied=3   this user may not use GPU 3
 *   falls=3    GPU 3 falls off the bus when its memory is read
 *   name=2, ecc=2, pending=2, remap=2, process=2, memory=2, links=2
 *              GPU 2 is another model, has uncorrected errors, a pending remapping, a failed
 *              remapping, a process, memory in use, a dead link
 *   crowd=2    GPU 2 has more processes than the caller has room for
 *   action=2   GPU 2 asks for a reset
 *   minors=4   the devices of the GPUs are nvidia4, nvidia5, ...; the default is nvidia0, ...
 *   mig=2      GPU 2 is split by MIG
 *   plain      nothing optional is supported
 *   loud, unloaded, broken, hang, die   what init does; `loud` prints
 *
 * Values that change with time:
 *
 *   util=50    percent of all GPUs; the default is 97
 *   idle=2     GPU 2 has 0 percent
 *   power=300, used=70000   W and MiB of all GPUs
 *   hot=2      the heat of GPU 2 slows it down
 *   xid=79     GPU 1 reports this Xid, once for each number
 *   storm=40   so many times instead of once
 *   mute       values that are read every second have no answer
 *   nogpm      GPM is not supported
 *
 * With FAKE_NVML_OLD defined, the library has only the symbols of an old driver. */
#include "tests/fake/script.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    INVALID = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    INSUFFICIENT_SIZE = 7,
    NOT_LOADED = 9,
    TIMED_OUT = 10,
    LOST = 15,
    UNKNOWN = 999
};

struct memory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct pci {
    char legacy_address[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
};

struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

struct field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned value_type;
    int status;
    unsigned long long value;
};

static char devices[8];

/* Reads the words of the file at every call. */
static const char *script_of_file(const char *path)
{
    static char words[256];
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    words[fread(words, 1, sizeof words - 1, file)] = '\0';
    words[strcspn(words, "\n")] = '\0';
    fclose(file);
    return words;
}

/* Returns the current faults: of the file, of this node, or of all nodes. */
static const char *script_of_node(void)
{
    if (getenv("FAKE_NVML_FILE"))
        return script_of_file(getenv("FAKE_NVML_FILE"));
    const char *node = getenv("SLURMD_NODENAME"), *script;
    char name[80];
    snprintf(name, sizeof name, "FAKE_NVML_%s", node ? node : "");
    script = getenv(name);
    return script ? script : getenv("FAKE_NVML");
}

static int said(const char *word)
{
    return script_said(script_of_node(), word);
}

static int index_of(const void *device)
{
    return (int)((const char *)device - devices);
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
    while (said("hang") > 0)
        pause();
    if (said("loud") > 0 && write(STDOUT_FILENO, "noise\n", 6) < 0)
        return UNKNOWN;
    if (said("die") > 0)
        raise(SIGKILL);
    return said("unloaded") > 0 ? NOT_LOADED : said("broken") > 0 ? UNKNOWN : SUCCESS;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = said("count") >= 0 ? (unsigned)said("count") : 8;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (said("lost") == (int)index)
        return LOST;
    if (said("denied") == (int)index)
        return NO_PERMISSION;
    *device = devices + index;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned size);
EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    const char *model = said("h100") > 0 ? "NVIDIA H100 80GB HBM3" : "NVIDIA H200";
    snprintf(name, size, "%s", said("name") == index_of(device) ? "NVIDIA L4" : model);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size);
EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size)
{
    snprintf(uuid, size, "GPU-%d0000000", index_of(device));
    return SUCCESS;
}

#ifndef FAKE_NVML_OLD

static int said_or(const char *word, int otherwise)
{
    int number = said(word);
    return number >= 0 ? number : otherwise;
}

EXPORT const char *nvmlErrorString(int status);
EXPORT const char *nvmlErrorString(int status)
{
    switch (status) {
    case LOST:
        return "GPU is lost";
    case NO_PERMISSION:
        return "Insufficient Permissions";
    case NOT_LOADED:
        return "Driver Not Loaded";
    default:
        return "Unknown";
    }
}

EXPORT int nvmlDeviceGetMinorNumber(void *device, unsigned *minor);
EXPORT int nvmlDeviceGetMinorNumber(void *device, unsigned *minor)
{
    if (said("plain") > 0)
        return NOT_SUPPORTED;
    *minor = (unsigned)(said_or("minors", 0) + index_of(device));
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending);
EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
    if (said("plain") > 0)
        return NOT_SUPPORTED;
    *current = *pending = said("mig") == index_of(device);
    return SUCCESS;
}

/* The address of GPU 2 is 0000:12:00. */
EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci);
EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    if (said("plain") > 0)
        return NOT_SUPPORTED;
    *pci = (struct pci){.bus = 0x10 + (unsigned)index_of(device)};
    snprintf(pci->address, sizeof pci->address, "00000000:%02X:00.0", pci->bus);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory *memory);
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory *memory)
{
    if (memory->version != (sizeof *memory | 2U << 24))
        return INVALID;
    if (said("falls") == index_of(device))
        return LOST;
    memory->total = 140000ULL << 20;
    memory->used =
        (said("memory") == index_of(device) ? 9000ULL : (unsigned long long)said_or("used", 4))
        << 20;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                                   struct process *processes);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                                   struct process *processes)
{
    unsigned room = *count;
    if (said("crowd") == index_of(device)) {
        *count = room + 1;
        return INSUFFICIENT_SIZE;
    }
    *count = said("process") == index_of(device);
    if (*count)
        processes[0].pid = 4242;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter,
                                       unsigned long long *count);
EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter,
                                       unsigned long long *count)
{
    if (said("plain") > 0)
        return NOT_SUPPORTED;
    if (type > 1 || counter != 0)
        return INVALID;
    *count = type == 1 && said("ecc") == index_of(device) ? 5 : 0;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected,
                                     unsigned *pending, unsigned *failed);
EXPORT int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected,
                                     unsigned *pending, unsigned *failed)
{
    if (said("plain") > 0)
        return NOT_SUPPORTED;
    *corrected = *uncorrected = 0;
    *pending = said("pending") == index_of(device);
    *failed = said("remap") == index_of(device);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields);
EXPORT int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
    for (int i = 0; i < count; i++) {
        bool is_known = (fields[i].id == 230 || fields[i].id == 82) && said("plain") < 0;
        fields[i].status = is_known ? SUCCESS : NOT_SUPPORTED;
        fields[i].value =
            fields[i].id == 82 ? 71 : (unsigned long long)(said("action") == index_of(device));
    }
    return SUCCESS;
}

EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *is_active);
EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *is_active)
{
    if (said("plain") > 0)
        return NOT_SUPPORTED;
    if (link >= 18)
        return INVALID;
    *is_active = said("links") != index_of(device) || link != 7;
    return SUCCESS;
}

/* --- What changes with time ------------------------------------------------------------------- */

struct utilization {
    unsigned gpu, memory;
};

struct event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

struct gpm_support {
    unsigned version, is_supported;
};

struct gpm_metric {
    unsigned id;
    int status;
    double value;
    char *short_name, *long_name, *unit;
};

struct gpm_metrics {
    unsigned version, count;
    void *before, *after;
    struct gpm_metric metrics[98];
};

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct utilization *utilization);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct utilization *utilization)
{
    while (said("mute") > 0)
        (void)poll(NULL, 0, 20);
    if (said("lost") == index_of(device))
        return LOST;
    utilization->gpu = said("idle") == index_of(device) ? 0 : (unsigned)said_or("util", 97);
    utilization->memory = utilization->gpu / 2;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 1000 * (unsigned)(said_or("power", 650) + index_of(device)) + 40;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    if (sensor != 0)
        return INVALID;
    *celsius = said("hot") == index_of(device) ? 91 : 60 + (unsigned)index_of(device);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *megahertz);
EXPORT int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *megahertz)
{
    if (said("plain") > 0)
        return NOT_SUPPORTED;
    *megahertz = clock == 2 ? 3201 : said("hot") == index_of(device) ? 1200 : 1980;
    return SUCCESS;
}

/* Drivers before 535 have only this old name. */
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = said("hot") == index_of(device) ? 0x20 : 0;
    return SUCCESS;
}

EXPORT int nvmlEventSetCreate(void **set);
EXPORT int nvmlEventSetCreate(void **set)
{
    *set = devices;
    return said("plain") > 0 ? NOT_SUPPORTED : SUCCESS;
}

EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set);
EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
    (void)device;
    return types == 8 && set == devices ? SUCCESS : INVALID;
}

EXPORT int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms);
EXPORT int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms)
{
    static int told = -1, left;
    int number = said("xid");
    (void)set;
    (void)timeout_ms;
    if (number >= 0 && number != told)
        left = said_or("storm", 1);
    told = number;
    if (number < 0 || left == 0)
        return TIMED_OUT;
    left--;
    *event = (struct event){.device = devices + 1, .type = 8, .data = (unsigned long long)number};
    return SUCCESS;
}

EXPORT int nvmlGpmQueryDeviceSupport(void *device, struct gpm_support *support);
EXPORT int nvmlGpmQueryDeviceSupport(void *device, struct gpm_support *support)
{
    (void)device;
    support->is_supported = said("nogpm") < 0 && said("plain") < 0;
    return support->version == 1 ? SUCCESS : INVALID;
}

EXPORT int nvmlGpmSampleAlloc(void **sample);
EXPORT int nvmlGpmSampleAlloc(void **sample)
{
    static char samples[64];
    static unsigned count;
    *sample = samples + count++ % sizeof samples;
    return SUCCESS;
}

EXPORT int nvmlGpmSampleGet(void *device, void *sample);
EXPORT int nvmlGpmSampleGet(void *device, void *sample)
{
    (void)device;
    *(char *)sample = 1;
    return SUCCESS;
}

EXPORT int nvmlGpmMetricsGet(struct gpm_metrics *metrics);
EXPORT int nvmlGpmMetricsGet(struct gpm_metrics *metrics)
{
    if (metrics->version != 1 || metrics->before == metrics->after ||
        !*(const char *)metrics->before || !*(const char *)metrics->after)
        return INVALID;
    for (unsigned i = 0; i < metrics->count; i++) {
        struct gpm_metric *metric = &metrics->metrics[i];
        metric->status = metric->id == 2 || metric->id == 5 ? SUCCESS : NOT_SUPPORTED;
        metric->value = metric->id == 5 ? 41.5 : 88;
    }
    return SUCCESS;
}

#endif
