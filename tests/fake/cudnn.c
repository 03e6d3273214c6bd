/* A cuDNN that cannot be used, for tests: programs must go on without it. */
#include <cudnn.h>

#include <stddef.h>
#include <stdio.h>

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_NOT_INITIALIZED ? "not initialized" : "an error of the fake";
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    (void)snprintf(message, size, "%s", "");
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = NULL;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    (void)handle;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    (void)handle, (void)stream;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor)
{
    (void)type, (void)descriptor;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    (void)descriptor;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    (void)descriptor;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values)
{
    (void)descriptor, (void)name, (void)type, (void)count, (void)values;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most,
                                       int64_t *count, void *values)
{
    (void)descriptor, (void)name, (void)type, (void)most, (void)count, (void)values;
    return CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    (void)handle, (void)plan, (void)pack;
    return CUDNN_STATUS_NOT_INITIALIZED;
}
