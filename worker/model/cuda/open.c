/* Opens the device with all that the other files need, and closes it. */
#include "worker/model/cuda/backend.h"

#include "lib/memory.h"

#include <cuda_runtime_api.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool are_left;

/* CUDA calls a missing driver "insufficient", as it calls a driver that is too old. */
static const char *name_trouble(cudaError_t code)
{
    int version = 0;
    if (code == cudaSuccess)
        return "CUDA finds no GPU";
    if (code == cudaErrorInsufficientDriver && cudaDriverGetVersion(&version) == cudaSuccess &&
        version == 0)
        return "there is no NVIDIA driver";
    return cudaGetErrorString(code);
}

/* Makes `device` the current one, with a stream. */
static int open_device(struct kernels *kernels, struct error *err)
{
    int count = 0, processors = 0, major = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count < 1)
        return error_set(err, -ENODEV, "no GPU can be used: %s", name_trouble(code));
    if (count == 1)
        kernels->device = 0;
    if (kernels->device >= count)
        return error_set(err, -ENODEV, "there is no GPU %d: %d %s visible", kernels->device, count,
                         count == 1 ? "is" : "are");
    code = cudaSetDevice(kernels->device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, kernels->device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, kernels->device);
    if (code == cudaSuccess && major < 8)
        return error_set(err, -ENODEV, "GPU %d is too old: it has no products of bf16",
                         kernels->device);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&kernels->stream, cudaStreamNonBlocking);
    struct cudaDeviceProp properties;
    if (code == cudaSuccess)
        code = cudaGetDeviceProperties(&properties, kernels->device);
    if (code != cudaSuccess)
        return error_set(err, -EIO, "GPU %d: %s", kernels->device, cudaGetErrorString(code));
    kernels->processors = (unsigned)processors;
    (void)snprintf(kernels->name, sizeof kernels->name, "%s", properties.name); /* fits */
    return 0;
}

struct kernels *kernels_new(int device, struct error *err)
{
    /* They make calls block, without a deadline, or join groups that have nothing to do with the
     * ranks. unsetenv() fails only for names with `=`. */
    static const char *const forgotten[] = {"CUDA_LAUNCH_BLOCKING", "NCCL_COMM_BLOCKING",
                                            "NCCL_COMM_ID"};
    for (size_t i = 0; i < sizeof forgotten / sizeof *forgotten; i++)
        (void)unsetenv(forgotten[i]);
    struct kernels *kernels = xcalloc(1, sizeof *kernels);
    kernels->device = device;
    recordings_open(kernels);
    int status = open_device(kernels, err);
    if (status == 0)
        status = memory_open(kernels, err);
    if (status == 0) {
        kernels->workspace = kernels_memory(kernels, BACKEND_WORKSPACE);
        kernels->parts = kernels_memory(kernels, BACKEND_PARTS * sizeof(float));
        status = kernels_status(kernels, err);
    }
    if (status == 0)
        status = products_open(kernels, err);
    if (status == 0)
        status = attentions_open(kernels, err);
    if (status == 0)
        return kernels;
    backend_fail(kernels, err);
    kernels_free(kernels);
    return NULL;
}

const char *kernels_device(const struct kernels *kernels)
{
    return kernels->name;
}

/* After a failure the GPU may hang, and an abort of NCCL may hold the driver. Then any call may
 * wait forever, also one that only frees. So everything is left to the end of the process. */
void kernels_free(struct kernels *kernels)
{
    if (!kernels)
        return;
    if (!kernels->is_failed) {
        recordings_close(kernels); /* NCCL waits for the end of graphs with its sums */
        sums_close(kernels);
    }
    if (kernels->is_failed) {
        sums_abort(kernels);
        are_left = true;
        return;
    }
    attentions_close(kernels);
    fp8_close(kernels);
    products_close(kernels);
    kernels_release(kernels, kernels->parts);
    kernels_release(kernels, kernels->workspace);
    memory_close(kernels);
    if (kernels->stream)
        (void)cudaStreamDestroy(kernels->stream); /* the process ends soon */
    free(kernels);
}

/* The end of the libraries may wait for the GPU, or crash beside a thread of NCCL. */
bool kernels_are_left(void)
{
    return are_left;
}
