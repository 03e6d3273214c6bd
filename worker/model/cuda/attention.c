/* Attention by cuDNN's fused kernels, with a plan for each shape. If cuDNN has no kernel for a
 * shape, or is not there, own kernels do the work, and the program says so once. */
#include "worker/model/cuda/attention_plan.h"

#include "lib/memory.h"
#include "worker/model/cuda/backend.h"

#include <cudnn.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SHAPES_MAX = 8, /* training and evaluation have one shape each */
    OLDEST = 91100, /* the backward pass of 9.10.0 and 9.10.1 is wrong, and before 9.10 -inf is no
                     * mask */
    BLOCK = 128,    /* rows that cuDNN's kernels take at once */
    PADS_SINCE = 91501, /* releases of cuDNN before 9.15.1 want a padding mask for a part of a block
                         * in the backward pass; NVIDIA's frontend adds it, these graphs do not */
};

struct attention {
    struct kernel_attention_shape shape;
    bool is_own;     /* own kernels compute it */
    bool has_handle; /* the plans are made with the handle of cuDNN */
    struct graph_plan forward, backward;
};

struct attentions {
    cudnnHandle_t library; /* NULL: cuDNN cannot be used */
    void *device;          /* for which plans are made */
    struct attention kept[SHAPES_MAX];
    size_t count;
    void *scratch; /* for sums, parts and workspaces of all plans */
    size_t scratch_bytes;
};

/* The numbers that plans read when they are queued. */
static const float least = -INFINITY, one = 1;

static void tell_own(const struct error *why)
{
    char message[sizeof why->where + sizeof why->message];
    fprintf(stderr, "phase-model: attention uses slow kernels of its own: %s\n",
            error_text(why, message, sizeof message));
}

int attentions_open(struct kernels *kernels, struct error *err)
{
    struct attentions *attentions = xcalloc(1, sizeof *attentions);
    (void)err; /* without cuDNN there are own kernels */
    kernels->attentions = attentions;
    struct error why;
    cudnnStatus_t status = cudnnCreate(&attentions->library);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnSetStream(attentions->library, kernels->stream);
    if (status == CUDNN_STATUS_SUCCESS) {
        attentions->device = graph_device(kernels->device, &why);
        if (attentions->device)
            return 0;
    } else {
        (void)error_set(&why, -EIO, "cuDNN: %s", cudnnGetErrorString(status));
    }
    tell_own(&why);
    if (attentions->library)
        (void)cudnnDestroy(attentions->library);
    attentions->library = NULL;
    return 0;
}

static void forget(struct attention *attention)
{
    graph_plan_fini(&attention->forward);
    graph_plan_fini(&attention->backward);
}

void attentions_close(struct kernels *kernels)
{
    struct attentions *attentions = kernels->attentions;
    if (!attentions)
        return;
    for (size_t i = 0; i < attentions->count; i++)
        forget(&attentions->kept[i]);
    graph_device_free(attentions->device);
    kernels_release(kernels, attentions->scratch);
    if (attentions->library)
        (void)cudnnDestroy(attentions->library);
    free(attentions);
    kernels->attentions = NULL;
}

static size_t rounded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Where the scratch of a backward pass lies: the sums, the queries' gradient, the workspace. */
static size_t sums_bytes(const struct kernel_attention_shape *shape)
{
    return rounded(kernel_attention_kept(shape) * sizeof(float));
}

static size_t part_bytes(const struct kernel_attention_shape *shape)
{
    return rounded(kernel_attention_kept(shape) * shape->head_width * sizeof(float));
}

/* Makes sure that the scratch is large enough for a plan. */
static void grow(struct kernels *kernels, size_t bytes)
{
    struct attentions *attentions = kernels->attentions;
    if (bytes <= attentions->scratch_bytes)
        return;
    kernels_release(kernels, attentions->scratch); /* waits for kernels that use it */
    attentions->scratch = kernels_memory(kernels, bytes);
    attentions->scratch_bytes = attentions->scratch ? bytes : 0;
}

/* Fails if the loaded cuDNN, which may be older than its headers, is too old, or wants a padding
 * mask. */
static int check_version(const struct kernel_attention_shape *shape, struct error *err)
{
    size_t version = cudnnGetVersion(), major = version / 10000, minor = version / 100 % 100;
    if (version < OLDEST)
        return error_set(err, -ENOTSUP, "cuDNN %zu.%zu.%zu is too old: use 9.11 or later", major,
                         minor, version % 100);
    if (shape->sequence % BLOCK == 0 || version >= PADS_SINCE)
        return 0;
    return error_set(err, -ENOTSUP, "cuDNN %zu.%zu.%zu wants a sequence that is a multiple of %d",
                     major, minor, version % 100, BLOCK);
}

static void make_plans(struct kernels *kernels, struct attention *attention)
{
    struct attentions *attentions = kernels->attentions;
    const struct kernel_attention_shape *shape = &attention->shape;
    const struct graph_target target = {attentions->device,
                                        attention->has_handle ? attentions->library : NULL};
    struct error why;
    attention->is_own = !attentions->library;
    if (attention->is_own)
        return;
    if (check_version(shape, &why) < 0 ||
        attention_plan_forward(shape, &target, &attention->forward, &why) < 0 ||
        attention_plan_backward(shape, &target, &attention->backward, &why) < 0) {
        attention->is_own = true;
        tell_own(&why);
        return;
    }
    grow(kernels, (size_t)attention->forward.workspace_bytes);
    grow(kernels,
         sums_bytes(shape) + part_bytes(shape) + (size_t)attention->backward.workspace_bytes);
}

/* Returns what is kept for the shape, and plans it the first time. If too many shapes come, the
 * last place is used again. */
static struct attention *find(struct kernels *kernels, const struct kernel_attention_shape *shape)
{
    struct attentions *attentions = kernels->attentions;
    for (size_t i = 0; i < attentions->count; i++)
        if (memcmp(&attentions->kept[i].shape, shape, sizeof *shape) == 0)
            return &attentions->kept[i];
    if (attentions->count == SHAPES_MAX)
        forget(&attentions->kept[--attentions->count]);
    struct attention *attention = &attentions->kept[attentions->count++];
    *attention = (struct attention){.shape = *shape};
    make_plans(kernels, attention);
    return attention;
}

size_t kernel_attention_kept(const struct kernel_attention_shape *shape)
{
    return shape->batch * shape->heads * shape->sequence;
}

/* Runs a plan. The addresses are not const for cuDNN, which only writes to outputs. Returns whether
 * it ran. If cuDNN cannot run its own plan, it gets a second chance: a plan that is made with its
 * handle, as most programs do. If that fails, too, own kernels take over. */
static bool run(struct kernels *kernels, struct attention *attention, const struct graph_plan *plan,
                const void *const *addresses, void *workspace)
{
    struct error why;
    if (kernels->is_failed || graph_run(plan, kernels->attentions->library,
                                        (void *const *)(uintptr_t)addresses, workspace, &why) == 0)
        return true;
    if (attention->has_handle) {
        attention->is_own = true;
        tell_own(&why);
        return false;
    }
    char message[sizeof why.where + sizeof why.message];
    fprintf(stderr, "phase-model: attention is planned again: %s\n",
            error_text(&why, message, sizeof message));
    forget(attention);
    attention->has_handle = true;
    make_plans(kernels, attention);
    return false;
}

/* Returns whether cuDNN has computed it. */
static bool run_forward(struct kernels *kernels, struct attention *attention, kernel_number *y,
                        float *ret_kept, const kernel_number *qkv)
{
    const struct kernel_attention_shape *shape = &attention->shape;
    const kernel_number *keys = qkv + shape->heads * shape->head_width;
    const float scale = 1.0f / sqrtf((float)shape->head_width);
    const void *const addresses[ATTENTION_FORWARD_TENSORS] = {
        [ATTENTION_FORWARD_Q] = qkv,
        [ATTENTION_FORWARD_K] = keys,
        [ATTENTION_FORWARD_V] = keys + shape->kv_heads * shape->head_width,
        [ATTENTION_FORWARD_Y] = y,
        [ATTENTION_FORWARD_KEPT] = ret_kept,
        [ATTENTION_FORWARD_SCALE] = &scale,
        [ATTENTION_FORWARD_LEAST] = &least,
    };
    return run(kernels, attention, &attention->forward, addresses, kernels->attentions->scratch);
}

void kernel_attention(struct kernels *kernels, kernel_number *y, float *ret_kept,
                      const kernel_number *qkv, const struct kernel_attention_shape *shape)
{
    if (kernels->is_failed)
        return;
    struct attention *attention = find(kernels, shape);
    while (!attention->is_own)
        if (run_forward(kernels, attention, y, ret_kept, qkv))
            return;
    own_attention(kernels, y, ret_kept, qkv, shape);
}

/* Returns whether cuDNN has computed it. */
static bool run_backward(struct kernels *kernels, struct attention *attention, kernel_number *dqkv,
                         const kernel_number *dy, const kernel_number *y, const float *kept,
                         const kernel_number *qkv)
{
    const struct kernel_attention_shape *shape = &attention->shape;
    size_t queries = shape->heads * shape->head_width, keys = shape->kv_heads * shape->head_width;
    const float scale = 1.0f / sqrtf((float)shape->head_width);
    char *scratch = kernels->attentions->scratch;
    const void *const addresses[ATTENTION_BACKWARD_TENSORS] = {
        [ATTENTION_BACKWARD_Q] = qkv,
        [ATTENTION_BACKWARD_K] = qkv + queries,
        [ATTENTION_BACKWARD_V] = qkv + queries + keys,
        [ATTENTION_BACKWARD_Y] = y,
        [ATTENTION_BACKWARD_DY] = dy,
        [ATTENTION_BACKWARD_KEPT] = kept,
        [ATTENTION_BACKWARD_DQ] = dqkv,
        [ATTENTION_BACKWARD_DK] = dqkv + queries,
        [ATTENTION_BACKWARD_DV] = dqkv + queries + keys,
        [ATTENTION_BACKWARD_SCALE] = &scale,
        [ATTENTION_BACKWARD_LEAST] = &least,
        [ATTENTION_BACKWARD_ONE] = &one,
        [ATTENTION_BACKWARD_SUMS] = scratch,
        [ATTENTION_BACKWARD_PART] = scratch + sums_bytes(shape),
    };
    return run(kernels, attention, &attention->backward, addresses,
               scratch + sums_bytes(shape) + part_bytes(shape));
}

void kernel_attention_backward(struct kernels *kernels, kernel_number *dqkv,
                               const kernel_number *dy, const kernel_number *y, const float *kept,
                               const kernel_number *qkv, const struct kernel_attention_shape *shape)
{
    if (kernels->is_failed)
        return;
    struct attention *attention = find(kernels, shape);
    while (!attention->is_own)
        if (run_backward(kernels, attention, dqkv, dy, y, kept, qkv))
            return;
    own_attention_backward(kernels, dqkv, dy, y, kept, qkv, shape);
}
