/* Loads NVML's functions, and makes the calls that all readers of GPUs share. */
#include "worker/nvml.h"

#include "lib/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* The place of each symbol. All types of function pointers have the same representation. */
static const struct {
    const char *name;
    size_t offset;
    bool is_needed;
} nvml_symbols[] = {
#define X(member, symbol, is_needed, parameters)                                                   \
    {#symbol, offsetof(struct nvml, member), is_needed},
    NVML_FUNCTIONS(X)
#undef X
        {"nvmlErrorString", offsetof(struct nvml, error_string), false},
};

static int nvml_load(const char *path, struct nvml *ret_nvml, struct error *err)
{
    const char *name = path ? path : "libnvidia-ml.so.1";
    struct nvml nvml = {0};
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, -ENODEV, "%s: cannot be loaded", name);
    for (size_t i = 0; i < sizeof nvml_symbols / sizeof *nvml_symbols; i++) {
        void *symbol = dlsym(library, nvml_symbols[i].name);
        if (!symbol && nvml_symbols[i].is_needed)
            return error_set(err, -ENODEV, "%s: missing in the driver's library",
                             nvml_symbols[i].name);
        memcpy((char *)&nvml + nvml_symbols[i].offset, &symbol, sizeof symbol);
    }
    *ret_nvml = nvml;
    return 0;
}

int nvml_open(const char *path, struct nvml *ret_nvml, unsigned *ret_count, struct error *err)
{
    int result = nvml_load(path, ret_nvml, err);
    if (result < 0)
        return result;
    int status = ret_nvml->init();
    if (status != NVML_SUCCESS)
        return error_set(err, status == NVML_DRIVER_NOT_LOADED ? -ENODEV : -EIO, "nvmlInit: %s",
                         nvml_message(ret_nvml, status));
    status = ret_nvml->count(ret_count);
    if (status != NVML_SUCCESS)
        return error_set(err, -EIO, "nvmlDeviceGetCount: %s", nvml_message(ret_nvml, status));
    return 0;
}

const char *nvml_message(const struct nvml *nvml, int status)
{
    const char *message = nvml->error_string ? nvml->error_string(status) : NULL;
    return message ? message : "an error without a name";
}

int nvml_memory_of(const struct nvml *nvml, void *device, unsigned long long *ret_used,
                   unsigned long long *ret_total)
{
    struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
    struct nvml_memory v1 = {0};
    int status = nvml->memory_v2 ? nvml->memory_v2(device, &v2) : NVML_NOT_SUPPORTED;
    bool is_old = status != NVML_SUCCESS && nvml->memory;
    if (is_old)
        status = nvml->memory(device, &v1);
    *ret_used = is_old ? v1.used : v2.used;
    *ret_total = is_old ? v1.total : v2.total;
    return status;
}
