/* Describes graphs by the descriptors of cuDNN's backend, and finds an engine for them. */
#include "worker/model/cuda/graph.h"

#include "lib/error.h"

#include <assert.h>
#include <cudnn.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const cudnnDataType_t types[] = {
    [GRAPH_BFLOAT] = CUDNN_DATA_BFLOAT16,
    [GRAPH_FLOAT] = CUDNN_DATA_FLOAT,
    [GRAPH_INDEX] = CUDNN_DATA_INT32,
    [GRAPH_TRUTH] = CUDNN_DATA_BOOLEAN,
};

static const cudnnPointwiseMode_t functions[] = {
    [GRAPH_TIMES] = CUDNN_POINTWISE_MUL,       [GRAPH_MINUS] = CUDNN_POINTWISE_SUB,
    [GRAPH_PLUS] = CUDNN_POINTWISE_ADD,        [GRAPH_DIVIDED] = CUDNN_POINTWISE_DIV,
    [GRAPH_NOT_LESS] = CUDNN_POINTWISE_CMP_GE, [GRAPH_EXPONENTIAL] = CUDNN_POINTWISE_EXP,
    [GRAPH_LOGARITHM] = CUDNN_POINTWISE_LOG,   [GRAPH_SAME] = CUDNN_POINTWISE_IDENTITY,
};

static const cudnnReduceTensorOp_t reductions[] = {
    [GRAPH_SUM] = CUDNN_REDUCE_TENSOR_ADD,
    [GRAPH_HIGHEST] = CUDNN_REDUCE_TENSOR_MAX,
};

enum { ENGINES_MAX = 8 }; /* of those that cuDNN proposes, so many are tried */

/* Keeps the first failure. */
static void note(struct graph *graph, unsigned status, const char *doing)
{
    if (status != CUDNN_STATUS_SUCCESS && graph->status == CUDNN_STATUS_SUCCESS) {
        graph->status = status;
        graph->failed = doing;
    }
}

static cudnnBackendDescriptor_t create(struct graph *graph, cudnnBackendDescriptorType_t type,
                                       const char *doing)
{
    cudnnBackendDescriptor_t descriptor = NULL;
    note(graph, cudnnBackendCreateDescriptor(type, &descriptor), doing);
    return descriptor;
}

static void set(struct graph *graph, cudnnBackendDescriptor_t descriptor,
                cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                const void *values, const char *doing)
{
    if (graph->status == CUDNN_STATUS_SUCCESS)
        note(graph, cudnnBackendSetAttribute(descriptor, name, type, count, values), doing);
}

static void set_descriptor(struct graph *graph, cudnnBackendDescriptor_t descriptor,
                           cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value,
                           const char *doing)
{
    set(graph, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, doing);
}

static void finalize(struct graph *graph, cudnnBackendDescriptor_t descriptor, const char *doing)
{
    if (graph->status == CUDNN_STATUS_SUCCESS)
        note(graph, cudnnBackendFinalize(descriptor), doing);
}

int graph_tensor(struct graph *graph, enum graph_place place, enum graph_type type,
                 const int64_t dimensions[GRAPH_DIMENSIONS],
                 const int64_t strides[GRAPH_DIMENSIONS])
{
    static const char doing[] = "describing a tensor";
    assert(graph->tensor_count < GRAPH_TENSORS_MAX);
    int number = graph->tensor_count++;
    int64_t id = number + 1, alignment = 16;
    bool inside = place == GRAPH_INSIDE, by_value = place == GRAPH_BY_VALUE;
    cudnnBackendDescriptor_t tensor = create(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR, doing);
    graph->tensors[number] = tensor;
    if (!inside)
        graph->given[graph->given_count++] = id;
    set(graph, tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &types[type], doing);
    set(graph, tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, GRAPH_DIMENSIONS, dimensions,
        doing);
    set(graph, tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, GRAPH_DIMENSIONS, strides,
        doing);
    set(graph, tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id, doing);
    set(graph, tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment, doing);
    set(graph, tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &inside, doing);
    set(graph, tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value, doing);
    finalize(graph, tensor, doing);
    return number;
}

/* Adds an operation, and the descriptor `part` that says which function it computes; NULL: the
 * operation needs no descriptor. */
static cudnnBackendDescriptor_t operation(struct graph *graph, cudnnBackendDescriptorType_t type,
                                          cudnnBackendAttributeName_t part_name,
                                          cudnnBackendDescriptor_t part, const char *doing)
{
    assert(graph->operation_count < GRAPH_OPERATIONS_MAX);
    int number = graph->operation_count++;
    graph->parts[number] = part;
    graph->operations[number] = create(graph, type, doing);
    if (part)
        set_descriptor(graph, graph->operations[number], part_name, part, doing);
    return graph->operations[number];
}

void graph_matmul(struct graph *graph, int a, int b, int y)
{
    static const char doing[] = "describing a product";
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t part = create(graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR, doing);
    set(graph, part, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type, doing);
    finalize(graph, part, doing);
    cudnnBackendDescriptor_t own = operation(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
                                             CUDNN_ATTR_OPERATION_MATMUL_DESC, part, doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_MATMUL_ADESC, graph->tensors[a], doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_MATMUL_BDESC, graph->tensors[b], doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_MATMUL_CDESC, graph->tensors[y], doing);
    finalize(graph, own, doing);
}

/* Describes the function of a pointwise operation; `axis` is -1 for all functions but the index. */
static cudnnBackendDescriptor_t pointwise_part(struct graph *graph, cudnnPointwiseMode_t mode,
                                               cudnnDataType_t type, int64_t axis)
{
    static const char doing[] = "describing a function";
    cudnnBackendDescriptor_t part = create(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, doing);
    set(graph, part, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode, doing);
    set(graph, part, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type, doing);
    if (axis >= 0)
        set(graph, part, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis, doing);
    finalize(graph, part, doing);
    return part;
}

/* Adds a pointwise operation. Tensors of -1 are left out. */
static void pointwise(struct graph *graph, cudnnBackendDescriptor_t part, int x, int b,
                      int condition, int y)
{
    static const char doing[] = "describing a pointwise operation";
    cudnnBackendDescriptor_t own =
        operation(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                  CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part, doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph->tensors[x], doing);
    if (b >= 0)
        set_descriptor(graph, own, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, graph->tensors[b], doing);
    if (condition >= 0)
        set_descriptor(graph, own, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, graph->tensors[condition],
                       doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, graph->tensors[y], doing);
    finalize(graph, own, doing);
}

void graph_pointwise(struct graph *graph, enum graph_function function, int x, int b, int y)
{
    cudnnDataType_t type = function == GRAPH_NOT_LESS ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT;
    pointwise(graph, pointwise_part(graph, functions[function], type, -1), x, b, -1, y);
}

void graph_index(struct graph *graph, int64_t axis, int x, int y)
{
    pointwise(graph, pointwise_part(graph, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis), x,
              -1, -1, y);
}

void graph_select(struct graph *graph, int condition, int a, int b, int y)
{
    pointwise(graph, pointwise_part(graph, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, -1), a,
              b, condition, y);
}

void graph_reduce(struct graph *graph, enum graph_reduction how, int x, int y)
{
    static const char doing[] = "describing a reduction";
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t part = create(graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, doing);
    set(graph, part, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1,
        &reductions[how], doing);
    set(graph, part, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type, doing);
    finalize(graph, part, doing);
    cudnnBackendDescriptor_t own = operation(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
                                             CUDNN_ATTR_OPERATION_REDUCTION_DESC, part, doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, graph->tensors[x], doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, graph->tensors[y], doing);
    finalize(graph, own, doing);
}

void graph_reshape(struct graph *graph, int x, int y)
{
    static const char doing[] = "describing a transposition";
    cudnnBackendDescriptor_t own = operation(graph, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
                                             CUDNN_ATTR_OPERATION_RESHAPE_XDESC, NULL, doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, graph->tensors[x], doing);
    set_descriptor(graph, own, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, graph->tensors[y], doing);
    finalize(graph, own, doing);
}

static int fail(struct error *err, unsigned status, const char *doing)
{
    char detail[160] = "";
    cudnnGetLastErrorString(detail, sizeof detail);
    return error_set(err, -EIO, "cuDNN: %s: %s%s%s", doing,
                     cudnnGetErrorString((cudnnStatus_t)status), *detail ? ": " : "", detail);
}

/* Finalizes the description of a device, or destroys it. */
static cudnnBackendDescriptor_t device_with(cudnnBackendAttributeName_t name,
                                            cudnnBackendAttributeType_t type, int64_t count,
                                            const void *values, struct error *err)
{
    cudnnBackendDescriptor_t device = NULL;
    cudnnStatus_t status =
        cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendSetAttribute(device, name, type, count, values);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendFinalize(device);
    if (status == CUDNN_STATUS_SUCCESS)
        return device;
    (void)fail(err, status, "asking for the GPU");
    if (device)
        (void)cudnnBackendDestroyDescriptor(device); /* a failure is reported already */
    return NULL;
}

void *graph_device(int device, struct error *err)
{
    int32_t number = device;
    return device_with(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &number, err);
}

void *graph_device_from_text(const char *text, struct error *err)
{
    return device_with(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                       (int64_t)strlen(text), text, err);
}

void graph_device_free(void *device)
{
    if (device)
        (void)cudnnBackendDestroyDescriptor(device); /* it held nothing else */
}

/* Makes a plan of one engine, as configured. Returns NULL if the engine cannot do it. */
static cudnnBackendDescriptor_t plan_of(cudnnBackendDescriptor_t engine,
                                        const struct graph_target *target, int64_t *ret_workspace)
{
    cudnnBackendDescriptor_t plan = NULL;
    int64_t count = 0;
    cudnnStatus_t status =
        cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = target->handle
                     ? cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                                CUDNN_TYPE_HANDLE, 1, &target->handle)
                     : cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &target->device);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendFinalize(plan);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                          CUDNN_TYPE_INT64, 1, &count, ret_workspace);
    if (status == CUDNN_STATUS_SUCCESS)
        return plan;
    if (plan)
        (void)cudnnBackendDestroyDescriptor(plan); /* the next engine is tried */
    return NULL;
}

/* Asks the heuristics for engines, in the order of their speed, and takes the first that works. */
static cudnnBackendDescriptor_t choose(struct graph *graph, cudnnBackendDescriptor_t described,
                                       const struct graph_target *target, int64_t *ret_workspace)
{
    static const char doing[] = "looking for a kernel";
    cudnnBackendDescriptor_t engines[ENGINES_MAX] = {0}, plan = NULL;
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    int64_t count = 0;
    cudnnBackendDescriptor_t heuristics = create(graph, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, doing);
    set_descriptor(graph, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, described, doing);
    set(graph, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode, doing);
    if (!target->handle)
        set_descriptor(graph, heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target->device, doing);
    finalize(graph, heuristics, doing);
    for (int i = 0; i < ENGINES_MAX; i++)
        engines[i] = create(graph, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, doing);
    if (graph->status == CUDNN_STATUS_SUCCESS)
        note(graph,
             cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, ENGINES_MAX, &count, engines),
             doing);
    for (int64_t i = 0; i < count && i < ENGINES_MAX && !plan; i++)
        plan = plan_of(engines[i], target, ret_workspace);
    if (!plan)
        note(graph, CUDNN_STATUS_NOT_SUPPORTED, doing);
    for (int i = 0; i < ENGINES_MAX; i++)
        if (engines[i])
            (void)cudnnBackendDestroyDescriptor(engines[i]);
    if (heuristics)
        (void)cudnnBackendDestroyDescriptor(heuristics);
    return plan;
}

static void destroy(void **descriptors, int count)
{
    for (int i = 0; i < count; i++)
        if (descriptors[i])
            (void)cudnnBackendDestroyDescriptor(descriptors[i]);
}

int graph_plan(struct graph *graph, const struct graph_target *target, struct graph_plan *ret_plan,
               struct error *err)
{
    static const char doing[] = "describing a graph";
    struct graph_plan made = {.given_count = graph->given_count};
    cudnnBackendDescriptor_t described =
        create(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, doing);
    memcpy(made.given, graph->given, sizeof made.given);
    set(graph, described, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        graph->operation_count, graph->operations, doing);
    if (target->handle)
        set(graph, described, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
            &target->handle, doing);
    finalize(graph, described, doing);
    made.plan = choose(graph, described, target, &made.workspace_bytes);
    int result = 0;
    if (graph->status == CUDNN_STATUS_SUCCESS)
        *ret_plan = made;
    else
        result = fail(err, graph->status, graph->failed);
    if (described)
        (void)cudnnBackendDestroyDescriptor(described);
    destroy(graph->operations, graph->operation_count);
    destroy(graph->parts, graph->operation_count);
    destroy(graph->tensors, graph->tensor_count);
    *graph = (struct graph){0};
    return result;
}

void graph_plan_fini(struct graph_plan *plan)
{
    if (plan && plan->plan)
        (void)cudnnBackendDestroyDescriptor(plan->plan);
    if (plan)
        *plan = (struct graph_plan){0};
}

int graph_run(const struct graph_plan *plan, struct cudnnContext *cudnn, void *const *addresses,
              void *workspace, struct error *err)
{
    cudnnBackendDescriptor_t pack = NULL;
    cudnnStatus_t status =
        cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                          CUDNN_TYPE_INT64, plan->given_count, plan->given);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                          CUDNN_TYPE_VOID_PTR, plan->given_count, addresses);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                          CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendFinalize(pack);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendExecute(cudnn, plan->plan, pack);
    int result = status == CUDNN_STATUS_SUCCESS ? 0 : fail(err, status, "running a graph");
    if (pack)
        (void)cudnnBackendDestroyDescriptor(pack);
    return result;
}
