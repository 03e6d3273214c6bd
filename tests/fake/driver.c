/* A driver of CUDA for a machine without GPUs, in place of libcuda.so.1: it has no device, but
 * takes any code and says that it has loaded it. So cuDNN makes whole plans for a GPU that is not
 * there, with all of its own checks and compilers. Nothing can run. */
#include <stddef.h>

enum { SUCCESS = 0, NO_DEVICE = 100 };

static int anything; /* only its address counts */

/* The declarations of NVIDIA's headers are not needed: callers look the names up. */
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuGetErrorString(int error, const char **ret_text);
int cuGetExportTable(const void **table, const void *id);
int cuLibraryLoadData(void **library, const void *code, void *names, void **values, unsigned count,
                      void *more_names, void **more_values, unsigned more_count);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuLibraryUnload(void *library);

int cuInit(unsigned flags)
{
    (void)flags;
    return SUCCESS;
}

int cuDeviceGetCount(int *count)
{
    *count = 0;
    return NO_DEVICE;
}

int cuGetErrorString(int error, const char **ret_text)
{
    *ret_text = error == NO_DEVICE ? "no device" : "an error of the fake";
    return SUCCESS;
}

int cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return NO_DEVICE;
}

int cuLibraryLoadData(void **library, const void *code, void *names, void **values, unsigned count,
                      void *more_names, void **more_values, unsigned more_count)
{
    (void)names, (void)values, (void)count;
    (void)more_names, (void)more_values, (void)more_count;
    *library = &anything;
    return code ? SUCCESS : NO_DEVICE;
}

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    *kernel = &anything;
    return library == &anything && name ? SUCCESS : NO_DEVICE;
}

int cuLibraryUnload(void *library)
{
    return library == &anything ? SUCCESS : NO_DEVICE;
}

/* The calls that cuDNN looks up but does not make for a plan. */
static int refuse(void)
{
    return NO_DEVICE;
}
#define REFUSED(name) int name(void) __attribute__((alias("refuse")))
REFUSED(cuCtxGetCurrent);
REFUSED(cuCtxGetLimit);
REFUSED(cuCtxPopCurrent);
REFUSED(cuCtxPushCurrent);
REFUSED(cuDeviceGet);
REFUSED(cuDriverGetVersion);
REFUSED(cuGetErrorName);
REFUSED(cuKernelGetAttribute);
REFUSED(cuKernelSetAttribute);
REFUSED(cuLaunchCooperativeKernel);
REFUSED(cuLaunchKernel);
REFUSED(cuLaunchKernelEx);
REFUSED(cuLibraryLoadFromFile);
REFUSED(cuLinkAddData);
REFUSED(cuLinkComplete);
REFUSED(cuLinkCreate);
REFUSED(cuLinkDestroy);
REFUSED(cuOccupancyMaxPotentialClusterSize);
REFUSED(cuStreamGetCtx);
