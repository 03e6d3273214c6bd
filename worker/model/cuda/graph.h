/* Graphs of operations for cuDNN, which turns each graph into one fused kernel, or a few.
 *
 * A graph is described once: first its tensors, then its operations in the order of the data. Then
 * a plan is made, which is kept and run many times. All tensors have four dimensions. The first
 * mistake is kept in the graph, so that a description needs no checks. graph_plan() reports it.
 *
 * Plans can be made for a GPU that is not there, from a text that describes it: tests do so. */
#ifndef PHASED_WORKER_MODEL_CUDA_GRAPH_H
#define PHASED_WORKER_MODEL_CUDA_GRAPH_H

#include <stdint.h>

struct cudnnContext;
struct error;

enum { GRAPH_TENSORS_MAX = 64, GRAPH_OPERATIONS_MAX = 40, GRAPH_DIMENSIONS = 4 };

enum graph_type { GRAPH_BFLOAT, GRAPH_FLOAT, GRAPH_INDEX, GRAPH_TRUTH };

enum graph_function {
    GRAPH_TIMES,
    GRAPH_MINUS,
    GRAPH_PLUS,
    GRAPH_DIVIDED,
    GRAPH_NOT_LESS, /* x >= b */
    GRAPH_EXPONENTIAL,
    GRAPH_LOGARITHM,
    GRAPH_SAME,
};

enum graph_reduction { GRAPH_SUM, GRAPH_HIGHEST };

enum graph_place {
    GRAPH_IN_MEMORY, /* the caller gives the address of the tensor to graph_run() */
    GRAPH_INSIDE,    /* exists only between two operations */
    GRAPH_BY_VALUE,  /* one number in the host's memory, whose address is given to graph_run() */
};

/* Begin with the graph set to 0. The pointers are cuDNN's descriptors. */
struct graph {
    void *tensors[GRAPH_TENSORS_MAX];
    void *operations[GRAPH_OPERATIONS_MAX];
    void *parts[GRAPH_OPERATIONS_MAX]; /* what the operations refer to */
    int tensor_count, operation_count;
    int64_t given[GRAPH_TENSORS_MAX]; /* the tensors that graph_run() takes */
    int given_count;
    unsigned status;    /* of the first call that failed */
    const char *failed; /* what that call did */
};

/* Adds a tensor, and returns its number. Dimensions are batch, heads, rows and columns; strides are
 * in elements. */
int graph_tensor(struct graph *graph, enum graph_place place, enum graph_type type,
                 const int64_t dimensions[GRAPH_DIMENSIONS],
                 const int64_t strides[GRAPH_DIMENSIONS]);

/* y = a b for each batch and head. If `a` has more heads than `b`, consecutive heads share. */
void graph_matmul(struct graph *graph, int a, int b, int y);
/* y = f(x), or f(x, b); a `b` of one column or one element is repeated. `b` is -1 if the function
 * has one operand. */
void graph_pointwise(struct graph *graph, enum graph_function function, int x, int b, int y);
/* y = the index of each element along `axis`; x gives the shape. */
void graph_index(struct graph *graph, int64_t axis, int x, int y);
/* y = condition ? a : b. */
void graph_select(struct graph *graph, int condition, int a, int b, int y);
/* Reduces the dimensions of x that are 1 in y. */
void graph_reduce(struct graph *graph, enum graph_reduction how, int x, int y);
/* y has the elements of x with another order of dimensions. */
void graph_reshape(struct graph *graph, int x, int y);

/* A plan, and the workspace that each run needs. */
struct graph_plan {
    void *plan;
    int64_t given[GRAPH_TENSORS_MAX];
    int given_count;
    int64_t workspace_bytes;
};

/* Describe the GPU for which plans are made: by its number, or by the text that cuDNN writes about
 * a GPU. Return NULL on failure. */
void *graph_device(int device, struct error *err);
void *graph_device_from_text(const char *text, struct error *err);
void graph_device_free(void *device);

/* The GPU for which a plan is made: that of the handle, or the GPU that `device` describes if the
 * handle is NULL. Both are borrowed. */
struct graph_target {
    void *device;
    struct cudnnContext *handle;
};

/* Makes a plan for the graph, and destroys the graph in any case. Fails if cuDNN has no kernel for
 * the graph on the GPU. */
int graph_plan(struct graph *graph, const struct graph_target *target, struct graph_plan *ret_plan,
               struct error *err);
void graph_plan_fini(struct graph_plan *plan);

/* Queues a plan on the stream of `cudnn`. `addresses` are those of all tensors in memory and by
 * value, in the order in which they were added. */
int graph_run(const struct graph_plan *plan, struct cudnnContext *cudnn, void *const *addresses,
              void *workspace, struct error *err);

#endif
