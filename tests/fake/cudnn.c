/* Graphs of operations for tests, with the interface of cuDNN's backend. A graph is computed one
 * operation after the other, element by element, so this shows what a graph means.
 * tests/unit/test_model_attention_plan.c checks whether the real cuDNN has a kernel for a graph.
 * FAKE_CUDA:
 *
 *   cudnn    cuDNN can be used; without this word it cannot
 *   cudnn=2  it makes plans, but cannot run them
 *   cudnn=3  it can run only plans that are made with its handle
 *   version=91500 it is of the release 9.15.0, and not of that of its headers */
#include "tests/fake/cuda.h"

#include <cudnn.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTRIBUTES_MAX = 12, VALUES_MAX = 512, DIMENSIONS = 4, TENSORS_MAX = 64 };

struct attribute {
    cudnnBackendAttributeName_t name;
    int64_t count;
    char values[VALUES_MAX];
};

struct descriptor {
    struct descriptor *next; /* all that were made */
    cudnnBackendDescriptorType_t type;
    bool is_final;
    struct descriptor *graph; /* of an engine */
    size_t attribute_count;
    struct attribute attributes[ATTRIBUTES_MAX];
};

/* A tensor in a run. */
struct tensor {
    const struct descriptor *descriptor;
    int64_t dimensions[DIMENSIONS], strides[DIMENSIONS], id;
    cudnnDataType_t type;
    void *data; /* numbers of `type`; of floats for a tensor that exists only inside */
    bool is_inside, is_own, is_by_value;
    float value;
};

struct run {
    const struct descriptor *graph;
    struct tensor tensors[TENSORS_MAX];
    size_t count;
};

struct cudnnContext {
    cudaStream_t stream;
};

static struct cudnnContext context;
static struct descriptor *descriptors;

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_NOT_INITIALIZED ? "not initialized" : "an error of the fake";
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    (void)snprintf(message, size, "%s", "");
}

size_t cudnnGetVersion(void)
{
    return fake_said("version") > 0 ? (size_t)fake_said("version") : CUDNN_VERSION;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = fake_said("cudnn") > 0 ? &context : NULL;
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    fake_check("cudnnDestroy()");
    return handle == &context ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor)
{
    struct descriptor *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->type = type;
    made->next = descriptors;
    descriptors = made;
    *descriptor = made;
    return CUDNN_STATUS_SUCCESS;
}

/* A graph keeps what it refers to, also if the program destroys that. So nothing is freed. */
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    fake_check("cudnnBackendDestroyDescriptor()");
    return descriptor ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static const void *find(const struct descriptor *descriptor, cudnnBackendAttributeName_t name)
{
    for (size_t i = 0; i < descriptor->attribute_count; i++)
        if (descriptor->attributes[i].name == name)
            return descriptor->attributes[i].values;
    return NULL;
}

static const struct descriptor *refer(const struct descriptor *descriptor,
                                      cudnnBackendAttributeName_t name)
{
    const void *value = find(descriptor, name);
    return value ? *(struct descriptor *const *)value : NULL;
}

static int64_t count_of(const struct descriptor *descriptor, cudnnBackendAttributeName_t name)
{
    for (size_t i = 0; i < descriptor->attribute_count; i++)
        if (descriptor->attributes[i].name == name)
            return descriptor->attributes[i].count;
    return 0;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values)
{
    struct descriptor *own = descriptor;
    size_t size = type == CUDNN_TYPE_BOOLEAN ? sizeof(bool)
                  : type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_BACKEND_DESCRIPTOR ||
                          type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_HANDLE
                      ? sizeof(int64_t)
                      : sizeof(int);
    if (own->is_final || own->attribute_count == ATTRIBUTES_MAX ||
        (size_t)count * size > VALUES_MAX)
        return CUDNN_STATUS_BAD_PARAM;
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        if (!((struct descriptor *const *)values)[i]->is_final)
            return CUDNN_STATUS_BAD_PARAM;
    struct attribute *attribute = &own->attributes[own->attribute_count++];
    attribute->name = name;
    attribute->count = count;
    memcpy(attribute->values, values, (size_t)count * size);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    ((struct descriptor *)descriptor)->is_final = true;
    return CUDNN_STATUS_SUCCESS;
}

/* The heuristics propose one engine, which can compute any graph without a workspace. */
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most,
                                       int64_t *count, void *values)
{
    const struct descriptor *own = descriptor;
    *count = 1;
    if (!own->is_final || most < 1)
        return CUDNN_STATUS_BAD_PARAM;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        struct descriptor *engine = *(struct descriptor **)values;
        engine->graph =
            (struct descriptor *)(uintptr_t)refer(own, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        engine->is_final = true;
        return CUDNN_STATUS_SUCCESS;
    }
    if (name != CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *(int64_t *)values = 0;
    return CUDNN_STATUS_SUCCESS;
}

/* Returns the tensor of a run, which the first use makes. */
static struct tensor *tensor_of(struct run *run, const struct descriptor *descriptor)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->tensors[i].descriptor == descriptor)
            return &run->tensors[i];
    if (run->count == TENSORS_MAX)
        abort();
    struct tensor *tensor = &run->tensors[run->count++];
    *tensor = (struct tensor){.descriptor = descriptor};
    memcpy(tensor->dimensions, find(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS),
           sizeof tensor->dimensions);
    memcpy(tensor->strides, find(descriptor, CUDNN_ATTR_TENSOR_STRIDES), sizeof tensor->strides);
    tensor->type = *(const cudnnDataType_t *)find(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE);
    tensor->id = *(const int64_t *)find(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    tensor->is_inside = *(const bool *)find(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    tensor->is_by_value = *(const bool *)find(descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    return tensor;
}

/* Returns a tensor of an operation; NULL: it has no tensor of this name. */
static struct tensor *used(struct run *run, const struct descriptor *operation,
                           cudnnBackendAttributeName_t name)
{
    const struct descriptor *descriptor = refer(operation, name);
    return descriptor ? tensor_of(run, descriptor) : NULL;
}

/* Returns where an element lies. Dimensions that the tensor has fewer of are shared by neighbours:
 * `all` are the dimensions that the indices belong to. */
static size_t place(const struct tensor *tensor, const int64_t all[DIMENSIONS],
                    const int64_t at[DIMENSIONS])
{
    int64_t offset = 0;
    for (int i = 0; i < DIMENSIONS; i++) {
        bool is_shared = all[i] != tensor->dimensions[i];
        offset +=
            (is_shared ? at[i] / (all[i] / tensor->dimensions[i]) : at[i]) * tensor->strides[i];
    }
    return (size_t)offset;
}

static float get_at(const struct tensor *tensor, size_t offset)
{
    if ((tensor->is_inside && tensor->is_own) || tensor->type != CUDNN_DATA_BFLOAT16)
        return ((const float *)tensor->data)[offset];
    return fake_wide(((const uint16_t *)tensor->data)[offset]);
}

static float get(const struct tensor *tensor, const int64_t all[DIMENSIONS],
                 const int64_t at[DIMENSIONS])
{
    return tensor->is_by_value ? tensor->value : get_at(tensor, place(tensor, all, at));
}

static void put(struct tensor *tensor, const int64_t at[DIMENSIONS], float value)
{
    size_t offset = place(tensor, tensor->dimensions, at);
    if (tensor->is_inside && !tensor->data) {
        size_t count = 1;
        for (int i = 0; i < DIMENSIONS; i++)
            count *= (size_t)tensor->dimensions[i];
        tensor->data = calloc(count, sizeof(float));
        tensor->is_own = true;
        if (!tensor->data)
            abort();
    }
    if (tensor->type != CUDNN_DATA_BFLOAT16)
        ((float *)tensor->data)[offset] = value;
    else if (tensor->is_inside)
        ((float *)tensor->data)[offset] = fake_wide(fake_narrow(value));
    else
        ((uint16_t *)tensor->data)[offset] = fake_narrow(value);
}

/* Steps through all elements. Returns false after the last one. */
static bool next(const int64_t dimensions[DIMENSIONS], int64_t at[DIMENSIONS])
{
    for (int i = DIMENSIONS; i-- > 0;) {
        if (++at[i] < dimensions[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static void multiply(struct run *run, const struct descriptor *operation)
{
    struct tensor *a = used(run, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    struct tensor *b = used(run, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    struct tensor *y = used(run, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    int64_t at[DIMENSIONS] = {0}, inner = a->dimensions[3];
    if (a->is_by_value || b->is_by_value || b->dimensions[2] != inner)
        abort();
    size_t a_step = (size_t)a->strides[3], b_step = (size_t)b->strides[2];
    do {
        const int64_t *all = y->dimensions;
        const int64_t a_all[] = {all[0], all[1], all[2], inner};
        const int64_t b_all[] = {all[0], all[1], inner, all[3]};
        const int64_t a_at[] = {at[0], at[1], at[2], 0}, b_at[] = {at[0], at[1], 0, at[3]};
        size_t a_first = place(a, a_all, a_at), b_first = place(b, b_all, b_at);
        float sum = 0;
        for (size_t k = 0; k < (size_t)inner; k++)
            sum += get_at(a, a_first + k * a_step) * get_at(b, b_first + k * b_step);
        put(y, at, sum);
    } while (next(y->dimensions, at));
}

static float compute(cudnnPointwiseMode_t mode, float x, float b, float condition, int64_t index)
{
    switch ((int)mode) {
    case CUDNN_POINTWISE_MUL:
        return x * b;
    case CUDNN_POINTWISE_SUB:
        return x - b;
    case CUDNN_POINTWISE_ADD:
        return x + b;
    case CUDNN_POINTWISE_DIV:
        return x / b;
    case CUDNN_POINTWISE_CMP_GE:
        return x >= b;
    case CUDNN_POINTWISE_EXP:
        return expf(x);
    case CUDNN_POINTWISE_LOG:
        return logf(x);
    case CUDNN_POINTWISE_IDENTITY:
        return x;
    case CUDNN_POINTWISE_GEN_INDEX:
        return (float)index;
    case CUDNN_POINTWISE_BINARY_SELECT:
        return condition != 0 ? x : b;
    default:
        abort();
    }
}

static void map(struct run *run, const struct descriptor *operation)
{
    const struct descriptor *part = refer(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    cudnnPointwiseMode_t mode =
        *(const cudnnPointwiseMode_t *)find(part, CUDNN_ATTR_POINTWISE_MODE);
    const int64_t *axis = find(part, CUDNN_ATTR_POINTWISE_AXIS);
    const struct tensor *x = used(run, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const struct tensor *b = used(run, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const struct tensor *condition = used(run, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    struct tensor *y = used(run, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    int64_t at[DIMENSIONS] = {0}, *all = y->dimensions;
    do
        put(y, at,
            compute(mode, get(x, all, at), b ? get(b, all, at) : 0,
                    condition ? get(condition, all, at) : 0, axis ? at[*axis] : 0));
    while (next(all, at));
}

static void reduce(struct run *run, const struct descriptor *operation)
{
    const struct descriptor *part = refer(operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    cudnnReduceTensorOp_t how =
        *(const cudnnReduceTensorOp_t *)find(part, CUDNN_ATTR_REDUCTION_OPERATOR);
    const struct tensor *x = used(run, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    struct tensor *y = used(run, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    bool is_sum = how == CUDNN_REDUCE_TENSOR_ADD;
    size_t count =
        (size_t)(y->dimensions[0] * y->dimensions[1] * y->dimensions[2] * y->dimensions[3]);
    float *results = malloc(count * sizeof *results);
    if (!results)
        abort();
    for (size_t i = 0; i < count; i++)
        results[i] = is_sum ? 0 : -INFINITY;
    int64_t at[DIMENSIONS] = {0};
    do {
        size_t to = 0;
        for (int i = 0; i < DIMENSIONS; i++)
            to = to * (size_t)y->dimensions[i] +
                 (size_t)(at[i] / (x->dimensions[i] / y->dimensions[i]));
        float value = get(x, x->dimensions, at);
        results[to] = is_sum ? results[to] + value : fmaxf(results[to], value);
    } while (next(x->dimensions, at));
    size_t from = 0;
    memset(at, 0, sizeof at);
    do
        put(y, at, results[from++]);
    while (next(y->dimensions, at));
    free(results);
}

/* The elements stay where they are, and get other dimensions. */
static void reshape(struct run *run, const struct descriptor *operation)
{
    const struct tensor *x = used(run, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    struct tensor *y = used(run, operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    int64_t at[DIMENSIONS] = {0};
    if (!x->is_inside) {
        y->data = x->data;
        return;
    }
    do {
        const int64_t from[] = {at[0], at[1], at[3], at[2]};
        put(y, at, get(x, x->dimensions, from));
    } while (next(y->dimensions, at));
}

static bool act_graph(struct fake_work *work)
{
    struct run *run = work->other;
    const struct descriptor *graph = run->graph;
    struct descriptor *const *operations = find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    for (int64_t i = 0; i < count_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS); i++) {
        if (operations[i]->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
            multiply(run, operations[i]);
        else if (operations[i]->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            map(run, operations[i]);
        else if (operations[i]->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
            reduce(run, operations[i]);
        else
            reshape(run, operations[i]);
    }
    for (size_t i = 0; i < run->count; i++)
        if (run->tensors[i].is_own)
            free(run->tensors[i].data);
    free(run);
    return true;
}

/* Gives each tensor of an operation its address. Numbers by value are read at once. */
static void bind(struct run *run, const struct descriptor *operation, const struct descriptor *pack)
{
    const int64_t *ids = find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    void *const *addresses = find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    int64_t count = count_of(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    for (size_t i = 0; i < operation->attribute_count; i++) {
        const struct descriptor *other =
            *(struct descriptor *const *)(const void *)operation->attributes[i].values;
        if (other->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
            continue;
        struct tensor *tensor = tensor_of(run, other);
        for (int64_t j = 0; j < count && !tensor->is_inside; j++) {
            if (ids[j] != tensor->id)
                continue;
            if (tensor->is_by_value)
                memcpy(&tensor->value, addresses[j], sizeof tensor->value);
            else
                tensor->data = addresses[j];
        }
    }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    const struct descriptor *engine = refer(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        abort();
    bool has_handle = find(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE) &&
                      find(engine->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
    if (fake_said("cudnn") == 2 || (fake_said("cudnn") == 3 && !has_handle)) {
        free(run);
        return CUDNN_STATUS_EXECUTION_FAILED;
    }
    run->graph = engine->graph;
    struct descriptor *const *operations = find(engine->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    for (int64_t i = 0; i < count_of(engine->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS); i++)
        bind(run, operations[i], pack);
    return fake_queue(handle->stream, (struct fake_work){.act = act_graph, .other = run})
               ? CUDNN_STATUS_EXECUTION_FAILED
               : CUDNN_STATUS_SUCCESS;
}
