/* The arithmetic of the model: each function is one kernel, some with their backward pass.
 *
 * Two backends implement this header, and one of them is linked: the files cpu*.c are the plain
 * reference, cuda/ is for GPUs. Nothing above this header knows which one it is. The code
 * above only uses the type kernel_number.
 *
 * All arrays of kernels are row-major and lie in the memory of the backend (kernels_memory()). A
 * row is one token of one sequence. Inputs and outputs never overlap, unless the comment allows it.
 * If a comment says "adds", the function adds to its output. All other functions overwrite it.
 * Activations and the weights of products are kernel_number. Master weights, moments, gradients of
 * weights, gains of norms and losses are float.
 *
 * Kernels are queued in the order of the calls and may run later. Only kernels_get() and
 * kernels_status() wait for them. A kernel cannot fail by itself: the first failure of a backend
 * stays, and kernels_status() returns it.
 *
 * On a CPU every sum has one fixed order, which does not depend on the vector width of the
 * processor or on how a matrix is cut into tiles. So the results have the same bits on every run
 * and every x86-64. */
#ifndef PHASED_WORKER_MODEL_KERNELS_H
#define PHASED_WORKER_MODEL_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CUDACC__
#define KERNEL_INLINE static __host__ __device__ inline
#else
#define KERNEL_INLINE static inline
#endif

struct error;
struct ranks;
struct kernels;

#ifdef KERNELS_CUDA
typedef uint16_t kernel_number; /* the bits of a bfloat16 */
#else
typedef float kernel_number;
#endif

/* ---- the backend and its memory ---- */

/* Opens the backend. `device` counts the visible GPUs from 0. If only one GPU is visible, that GPU
 * is opened; a CPU ignores the number. Returns NULL on failure. */
struct kernels *kernels_new(int device, struct error *err);
/* Closes the backend; after a failure it only tells the other ranks, and leaves the rest to the end
 * of the process. */
void kernels_free(struct kernels *kernels);
/* Returns whether kernels_free() has left anything. Then the process must end by _exit(), because
 * exit() may wait forever in the libraries of a backend. */
bool kernels_are_left(void);

/* Returns the name of the GPU, such as "NVIDIA H100 80GB HBM3", or "" for a CPU. Borrowed. */
const char *kernels_device(const struct kernels *kernels);

/* Returns 0 or the first failure of any call, such as a lack of memory. Waits for the kernels. */
int kernels_status(struct kernels *kernels, struct error *err);

/* Tells the backend of a failure elsewhere, such as that of a rank: kernels in the queue may never
 * end. All later calls do nothing and wait for nothing, also those that release. */
void kernels_abandon(struct kernels *kernels, const struct error *err);

/* Returns zeroed memory of the backend, aligned to 256 bytes. Returns NULL on failure, which
 * kernels_status() then tells. */
void *kernels_memory(struct kernels *kernels, size_t bytes);
void kernels_release(struct kernels *kernels, void *memory);

/* Returns how many bytes of memory are in use: of the GPU, by all programs; or by this process, if
 * it computes on a CPU. Returns 0 if that is unknown. */
size_t kernels_memory_used(struct kernels *kernels);

/* Returns memory of the host to which kernels_get() copies fast. Returns NULL if there is too
 * little; this is not a failure of the backend. */
void *kernels_host_memory(struct kernels *kernels, size_t bytes);
void kernels_release_host(struct kernels *kernels, void *memory);

void kernels_clear(struct kernels *kernels, void *memory, size_t bytes);
/* Copies from the host; the source may change as soon as the call returns. */
void kernels_put(struct kernels *kernels, void *to_backend, const void *from_host, size_t bytes);
/* Copies to the host, after all kernels that were queued before. Waits. */
void kernels_get(struct kernels *kernels, void *to_host, const void *from_backend, size_t bytes);

/* Queues what `work` queues: only kernels and sums, without copies from or to the host, and without
 * memory. For each key `work` queues the same kernels with the same arguments each time, so a
 * backend may keep the kernels of some keys, and queue them again without a call of `work`. If
 * there are several ranks, all repeat the same keys in the same order. */
void kernels_repeat(struct kernels *kernels, size_t key, void (*work)(void *context),
                    void *context);
/* Forgets what is kept of all keys, before memory is released that the work uses. */
void kernels_forget(struct kernels *kernels);

enum { KERNEL_FP8_STEP = 16 };
/* Lets the products with weights of KERNEL_IN_OUT round their factors to numbers of 8 bits, if all
 * sizes are multiples of KERNEL_FP8_STEP, but not the gradients of weights. The results stay
 * kernel_number. Returns -ERANGE if the backend has no such products. */
int kernels_use_fp8(struct kernels *kernels, struct error *err);

/* What a model needs of a backend. */
struct kernels_needs {
    size_t width, hidden, vocabulary, sequence, heads, kv_heads, head_width;
};
/* Returns 0 if the backend can compute such a model. If it cannot, the message names the size. */
int kernels_check(const struct kernels_needs *needs, struct error *err);

/* Lets the backend add numbers over the ranks. The ranks are borrowed. Call it at most once. A GPU
 * adds by NCCL, for a single rank only if PHASED_MODEL_NCCL is set: to try NCCL on one GPU. */
int kernels_join(struct kernels *kernels, struct ranks *ranks, struct error *err);
/* Begins to replace `values`[count] on every rank by their sum over the ranks, in the order of the
 * calls. Kernels that are queued later may run meanwhile. They may use `values` only after
 * kernels_sums_end(). With a single rank it does nothing. */
void kernels_sum(struct kernels *kernels, float *values, size_t count);
/* The same, but each rank gets only the sums of the values that it owns, as ranks_part() says. The
 * other values are undefined then. */
void kernels_sum_parts(struct kernels *kernels, float *values, size_t count);

/* Some numbers that lie one after another in the memory of the backend. */
struct kernel_run {
    kernel_number *numbers;
    size_t count;
};
/* Begins to replace the numbers of some runs on every rank by the numbers of their owners. Each run
 * has its own parts. */
void kernels_gather(struct kernels *kernels, const struct kernel_run *runs, size_t run_count);

/* Gives rank 0 the numbers of all ranks, between the kernels that are queued before and later.
 * `numbers` has `count` numbers for each rank, in the order of the ranks, and each rank has written
 * its own. In the other ranks the rest is undefined then. */
void kernels_collect(struct kernels *kernels, kernel_number *numbers, size_t count);
/* Kernels that are queued later run when all sums and gatherings are done. Does not wait. Returns 0
 * or the first failure that is known so far, with a message that names a rank that is gone. */
int kernels_sums_end(struct kernels *kernels, struct error *err);

/* ---- products ---- */

/* The rows of the largest step of generation. A backend makes products of so many rows in the same
 * way in each run, because another order of a sum can give another text. */
enum { KERNEL_STEP_ROWS = 448 };

enum kernel_mode {
    KERNEL_SET, /* overwrites the output */
    KERNEL_ADD, /* adds to the output */
};

/* How a matrix of weights lies in memory. */
enum kernel_order {
    KERNEL_IN_OUT, /* w[in x out] */
    KERNEL_OUT_IN, /* w[out x in], as a table of embeddings that is also the head */
};

/* y[rows x out] = x[rows x in] w. */
void kernel_matmul(struct kernels *kernels, kernel_number *y, const kernel_number *x,
                   const kernel_number *w, size_t rows, size_t in, size_t out,
                   enum kernel_order order);
/* dx[rows x in] = dy[rows x out] w^T. */
void kernel_matmul_dx(struct kernels *kernels, kernel_number *dx, const kernel_number *dy,
                      const kernel_number *w, size_t rows, size_t in, size_t out,
                      enum kernel_order order);
/* dw = x^T dy, or adds that to dw, which has the order of w. */
void kernel_matmul_dw(struct kernels *kernels, float *dw, const kernel_number *dy,
                      const kernel_number *x, size_t rows, size_t in, size_t out,
                      enum kernel_order order, enum kernel_mode mode);

/* Adds to y[rows x columns], on every rank, the sum over the ranks (kernels_join()) of a[rows x
 * inner] b[inner x columns]. `parts` is a power of two and divides `inner`. A CPU adds the products
 * of so many parts of `inner` in a tree, and then those of the ranks. So n ranks with p parts each
 * compute the same bits as one rank with n * p parts. A GPU adds in floats in an order of its own,
 * and rounds the sum once. */
void kernel_product_sum(struct kernels *kernels, kernel_number *y, const kernel_number *a,
                        const kernel_number *b, size_t rows, size_t inner, size_t columns,
                        size_t parts);

/* How many logits a training has at a time. Each piece of them reads and writes the whole gradient
 * of the head, and a GPU has memory for larger pieces. */
#ifdef KERNELS_CUDA
enum { KERNEL_LOGITS_MAX = 1 << 28 };
#else
enum { KERNEL_LOGITS_MAX = 1 << 26 };
#endif

/* ---- what works row by row ---- */

/* state = a + b, and y = gain * state / sqrt(mean(state^2) + 1e-6) in each row; keeps the factor 1
 * / sqrt(...) in ret_scale[rows]. `state` may be `a` or `b`. If b is NULL, the state is `a`, and
 * `state` is not written and may be NULL. */
void kernel_sum_rmsnorm(struct kernels *kernels, kernel_number *state, kernel_number *y,
                        float *ret_scale, const kernel_number *a, const kernel_number *b,
                        const float *gain, size_t rows, size_t width);
/* Adds to dx and dgain, given the gradient `dy` of y and the state `x`. */
void kernel_rmsnorm_backward(struct kernels *kernels, kernel_number *dx, float *dgain,
                             const kernel_number *dy, const kernel_number *x, const float *gain,
                             const float *scale, size_t rows, size_t width);

/* y[rows x hidden] = silu(wide[row][0 .. hidden - 1]) * wide[row][hidden .. 2 hidden - 1], where
 * silu(x) = x / (1 + e^-x). */
void kernel_gate(struct kernels *kernels, kernel_number *y, const kernel_number *wide, size_t rows,
                 size_t hidden);
/* dwide may be wide. */
void kernel_gate_backward(struct kernels *kernels, kernel_number *dwide, const kernel_number *dy,
                          const kernel_number *wide, size_t rows, size_t hidden);

/* y = a + b; y may be a or b. */
void kernel_sum(struct kernels *kernels, kernel_number *y, const kernel_number *a,
                const kernel_number *b, size_t count);

/* y[row] = table[ids[row]]; the table has rows of `width`. */
void kernel_embed(struct kernels *kernels, kernel_number *y, const uint32_t *ids,
                  const kernel_number *table, size_t rows, size_t width);
/* Adds to dtable. */
void kernel_embed_backward(struct kernels *kernels, float *dtable, const kernel_number *dy,
                           const uint32_t *ids, size_t rows, size_t width);

/* Adds the sum over rows of -log softmax(logits)[target] to *loss. The logits[rows x classes]
 * become their own gradient times `gradient_scale`. */
void kernel_cross_entropy(struct kernels *kernels, kernel_number *logits, float *loss,
                          const uint32_t *targets, float gradient_scale, size_t rows,
                          size_t classes);

/* ---- attention ---- */

struct kernel_attention_shape {
    size_t batch, sequence;
    size_t heads, kv_heads; /* kv_heads divides heads: heads / kv_heads queries share a key */
    size_t head_width;      /* even */
};

/* A row of qkv has heads queries, then kv_heads keys, then kv_heads values, head_width each. */

enum kernel_turn { KERNEL_FORWARD, KERNEL_BACKWARD };

/* Turns the queries and keys of qkv[batch * sequence rows] in place, by their positions: for i <
 * head_width / 2 the pair (x[i], x[i + head_width / 2]) of a head becomes (x[i] c - x[i + half] s,
 * x[i] s + x[i + half] c), where c and s are table[position][i][0] and [1]. The first token of
 * sequence b has the position firsts[b], or 0 if `firsts` is NULL. KERNEL_BACKWARD turns by the
 * negative angle: so it makes the gradient of the unturned queries and keys. */
void kernel_rotary(struct kernels *kernels, kernel_number *qkv, const float *table,
                   const uint32_t *firsts, const struct kernel_attention_shape *shape,
                   enum kernel_turn turn);

/* Returns how many floats the forward pass keeps for the backward pass. */
size_t kernel_attention_kept(const struct kernel_attention_shape *shape);
/* Causal attention: y[rows x heads * head_width] = softmax(q k^T / sqrt(head_width)) v for each
 * head, where a token sees itself and the tokens before it. */
void kernel_attention(struct kernels *kernels, kernel_number *y, float *ret_kept,
                      const kernel_number *qkv, const struct kernel_attention_shape *shape);
/* dqkv has the layout of qkv. */
void kernel_attention_backward(struct kernels *kernels, kernel_number *dqkv,
                               const kernel_number *dy, const kernel_number *y, const float *kept,
                               const kernel_number *qkv,
                               const struct kernel_attention_shape *shape);

enum { KERNEL_PAGE = 16 }; /* tokens in a page of kept keys and values */

/* Where the sequences of some new tokens keep their keys and values. Each token is a row. Several
 * rows may be of one sequence: they have the same pages. Token t of the sequence of row r lies at
 * place t % KERNEL_PAGE of the page table[r][t / KERNEL_PAGE]. Both arrays are in the backend's
 * memory. */
struct kernel_pages {
    const uint32_t *positions; /* [rows]: the position of the new token in its sequence */
    const uint32_t *table;     /* [rows x row] */
    size_t row;
};

/* Attention of new tokens, for generation. It first writes the keys and values of all rows of
 * qkv[batch rows] to the places of the new tokens in keys and values[pages x kv_heads x KERNEL_PAGE
 * x head_width]. Then y[batch x heads * head_width] reads all places of a sequence up to the new
 * token of the row. So the order of the rows does not matter. shape->batch is the number of rows,
 * and shape->sequence is 1. */
void kernel_attention_newest(struct kernels *kernels, kernel_number *y, kernel_number *keys,
                             kernel_number *values, const kernel_number *qkv,
                             const struct kernel_pages *pages,
                             const struct kernel_attention_shape *shape);

/* ---- drawing tokens ---- */

/* Where the logits of some rows are. Each rank has computed the logits of `part` classes; the last
 * ranks may have fewer classes, or no class. The logits of the ranks are `stride` numbers apart.
 * Each rank has a row for each row, with a number for each of its classes. */
struct kernel_parts {
    size_t classes, part, stride;
};

struct kernel_draw_options {
    size_t tokens;      /* the first classes; the others are padding and are never drawn */
    double temperature; /* logits are divided by it; 0: the most likely token is taken */
    double top_p;       /* keeps the most likely tokens: as few as together have this probability */
};

/* Draws a token for each row. Among equally likely tokens the first one is the most likely. If no
 * probability is a number, the most likely token is taken. Else the token is the first at which the
 * sum of probabilities is above randoms[row], which is in [0, 1). The sum begins with the most
 * likely token, or with the last one if top_p is 1. On every x86-64 a CPU draws the same token. A
 * GPU adds floats, so it may draw another token where a sum is very near its bound. */
void kernel_draw(struct kernels *kernels, uint32_t *ret_tokens, const kernel_number *logits,
                 const double *randoms, size_t rows, const struct kernel_parts *parts,
                 const struct kernel_draw_options *how);

/* ---- the optimizer ---- */

/* weights = master, rounded. On a CPU `weights` may be `master`. */
void kernel_round(struct kernels *kernels, kernel_number *weights, const float *master,
                  size_t count);

/* Adds the sum of squares to *sum. */
void kernel_square_sum(struct kernels *kernels, float *sum, const float *x, size_t count);

struct kernel_adamw_step {
    float rate, beta1, beta2, epsilon, decay;
    float correction1, correction2; /* 1 - beta^t of each moment */
    float clip;                     /* largest norm of the gradient; 0: no limit */
};
/* One step of AdamW with bias correction; the decay is decoupled from the gradient. *square_sum is
 * the sum of squares of the whole gradient. If the norm is above `clip`, the gradient is scaled
 * down to it. If *square_sum is not finite, nothing changes. The new master weights are also
 * written to `weights`, rounded; on a CPU `weights` may be `master`. */
void kernel_adamw(struct kernels *kernels, float *master, kernel_number *weights, float *moment1,
                  float *moment2, const float *gradient, size_t count, const float *square_sum,
                  const struct kernel_adamw_step *step);

/* Returns where a row is in the part that begins with the class `first`. */
KERNEL_INLINE size_t kernel_parts_row(const struct kernel_parts *parts, size_t first, size_t row,
                                      size_t *ret_count)
{
    size_t left = parts->classes - first;
    *ret_count = left < parts->part ? left : parts->part;
    return first / parts->part * parts->stride + row * *ret_count;
}

/* ---- numbers on the host ---- */

static inline float kernel_number_value(kernel_number number)
{
#ifdef KERNELS_CUDA
    uint32_t bits = (uint32_t)number << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
#else
    return number;
#endif
}

/* Rounds to the nearest number, and to an even one if two are equally near. */
static inline kernel_number kernel_number_of(float value)
{
#ifdef KERNELS_CUDA
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (kernel_number)(bits >> 16 | 0x40); /* NaN stays NaN */
    return (kernel_number)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#else
    return value;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
