/* Attention as graphs for cuDNN, which computes each graph in one fused kernel. */
#ifndef PHASED_WORKER_MODEL_CUDA_ATTENTION_PLAN_H
#define PHASED_WORKER_MODEL_CUDA_ATTENTION_PLAN_H

#include "worker/model/cuda/graph.h"

struct error;
struct kernel_attention_shape;

/* The tensors of a plan, in the order in which graph_run() takes their addresses. Queries, keys and
 * values lie in one array (kernels.h); each has the address of its first number. */
enum attention_forward_tensor {
    ATTENTION_FORWARD_Q,
    ATTENTION_FORWARD_K,
    ATTENTION_FORWARD_V,
    ATTENTION_FORWARD_Y,
    ATTENTION_FORWARD_KEPT,  /* the logarithm of each sum of exponentials */
    ATTENTION_FORWARD_SCALE, /* by value: 1 / sqrt(head_width), a float */
    ATTENTION_FORWARD_LEAST, /* by value: minus infinity, a float */
    ATTENTION_FORWARD_TENSORS,
};
enum attention_backward_tensor {
    ATTENTION_BACKWARD_Q,
    ATTENTION_BACKWARD_K,
    ATTENTION_BACKWARD_V,
    ATTENTION_BACKWARD_Y,
    ATTENTION_BACKWARD_DY,
    ATTENTION_BACKWARD_KEPT,
    ATTENTION_BACKWARD_DQ,
    ATTENTION_BACKWARD_DK,
    ATTENTION_BACKWARD_DV,
    ATTENTION_BACKWARD_SCALE,
    ATTENTION_BACKWARD_LEAST,
    ATTENTION_BACKWARD_ONE,  /* by value: 1, a float */
    ATTENTION_BACKWARD_SUMS, /* scratch: a float for each row and head */
    ATTENTION_BACKWARD_PART, /* scratch: the queries' gradient in float */
    ATTENTION_BACKWARD_TENSORS,
};

/* Make the plans for a shape. Fail if cuDNN has no kernel for it. */
int attention_plan_forward(const struct kernel_attention_shape *shape,
                           const struct graph_target *target, struct graph_plan *ret_plan,
                           struct error *err);
int attention_plan_backward(const struct kernel_attention_shape *shape,
                            const struct graph_target *target, struct graph_plan *ret_plan,
                            struct error *err);

#endif
