/* Loads NVML's functions. */
#include "worker/nvml.h"

#include "lib/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* The place of each symbol. Function pointers of different types have one representation. */
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

int nvml_load(const char *path, struct nvml *ret_nvml, struct error *err)
{
    const char *name = path ? path : "libnvidia-ml.so.1";
    struct nvml nvml = {0};
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, -ENOENT, "%s: cannot be loaded", name);
    for (size_t i = 0; i < sizeof nvml_symbols / sizeof *nvml_symbols; i++) {
        void *symbol = dlsym(library, nvml_symbols[i].name);
        if (!symbol && nvml_symbols[i].is_needed)
            return error_set(err, -ENOENT, "%s: missing in the driver's library",
                             nvml_symbols[i].name);
        memcpy((char *)&nvml + nvml_symbols[i].offset, &symbol, sizeof symbol);
    }
    *ret_nvml = nvml;
    return 0;
}

const char *nvml_message(const struct nvml *nvml, int status)
{
    const char *message = nvml->error_string ? nvml->error_string(status) : NULL;
    return message ? message : "an error without a name";
}
