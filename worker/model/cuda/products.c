/* Products of matrices by cuBLASLt: bf16 numbers, sums in float. How each shape is multiplied is
 * chosen once and kept: for training by a measurement, for generation by cuBLASLt's proposal.
 *
 * cuBLAS stores matrices by columns, the model by rows. A matrix by rows is its own transpose by
 * columns, so c = a b is computed as c^T = b^T a^T without moving anything. */
#include "worker/model/cuda/products.h"

#include "lib/memory.h"
#include "worker/model/cuda/backend.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT_MAX = 256,
    WAYS_MAX = 128,    /* shapes that are kept: a model has about 20, generation some more */
    PROPOSALS_MAX = 4, /* that are measured */
    TURNS = 3,         /* of a proposal, after one that loads its kernel */
};

/* What the choice depends on. Keys are compared as bytes, so all members are of one type. */
struct key {
    size_t rows, inner, columns, a_stride, b_stride, c_stride;
    size_t a_turned, b_turned;           /* 0 or 1 */
    size_t a_number, b_number, c_number; /* of enum product_number */
    size_t alignment;                    /* bytes; all three matrices begin at multiples of that */
};

struct way {
    struct key key;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t left, right, out;
    cublasLtMatmulAlgo_t algorithm;
};

struct products {
    cublasLtHandle_t library;
    cublasLtMatmulPreference_t preference;
    struct way ways[WAYS_MAX];
    size_t count, next; /* ways that are kept; the one that is replaced next */
};

static int fail(struct error *err, cublasStatus_t status, const char *doing)
{
    return error_set(err, -EIO, "cuBLASLt: %s: %s", doing, cublasLtGetStatusString(status));
}

int products_open(struct kernels *kernels, struct error *err)
{
    const uint64_t workspace = BACKEND_WORKSPACE;
    const uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; /* parts of a sum are floats */
    struct products *products = xcalloc(1, sizeof *products);
    kernels->products = products;
    cublasStatus_t status = cublasLtCreate(&products->library);
    if (!status)
        status = cublasLtMatmulPreferenceCreate(&products->preference);
    if (!status)
        status = cublasLtMatmulPreferenceSetAttribute(products->preference,
                                                      CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &workspace, sizeof workspace);
    if (!status)
        status = cublasLtMatmulPreferenceSetAttribute(products->preference,
                                                      CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                      &scheme, sizeof scheme);
    return status ? fail(err, status, "beginning") : 0;
}

static void forget(struct way *way)
{
    /* Descriptions are memory of the host, and cannot fail to be freed. */
    (void)cublasLtMatrixLayoutDestroy(way->left);
    (void)cublasLtMatrixLayoutDestroy(way->right);
    (void)cublasLtMatrixLayoutDestroy(way->out);
    (void)cublasLtMatmulDescDestroy(way->operation);
}

void products_close(struct kernels *kernels)
{
    struct products *products = kernels->products;
    if (!products)
        return;
    for (size_t i = 0; i < products->count; i++)
        forget(&products->ways[i]);
    if (products->preference)
        (void)cublasLtMatmulPreferenceDestroy(products->preference);
    if (products->library)
        (void)cublasLtDestroy(products->library);
    free(products);
    kernels->products = NULL;
}

/* Describes a matrix that lies by rows in memory. */
static cublasStatus_t lay_out(cublasLtMatrixLayout_t *ret_layout, cudaDataType_t type, size_t rows,
                              size_t columns, size_t stride)
{
    return cublasLtMatrixLayoutCreate(ret_layout, type, columns, rows, (int64_t)stride);
}

static cublasStatus_t describe(struct way *way)
{
    static const cudaDataType_t types[] = {[PRODUCT_BF16] = CUDA_R_16BF,
                                           [PRODUCT_E4M3] = CUDA_R_8F_E4M3,
                                           [PRODUCT_E5M2] = CUDA_R_8F_E5M2,
                                           [PRODUCT_FLOAT] = CUDA_R_32F};
    const struct key *key = &way->key;
    cublasOperation_t left = key->b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t right = key->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    size_t a_rows = key->a_turned ? key->inner : key->rows;
    size_t a_columns = key->a_turned ? key->rows : key->inner;
    size_t b_rows = key->b_turned ? key->columns : key->inner;
    size_t b_columns = key->b_turned ? key->inner : key->columns;
    const int8_t is_fast = key->a_number == PRODUCT_E4M3 && key->b_number == PRODUCT_E4M3;
    cublasStatus_t status =
        cublasLtMatmulDescCreate(&way->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (!status)
        status = cublasLtMatmulDescSetAttribute(way->operation, CUBLASLT_MATMUL_DESC_TRANSA, &left,
                                                sizeof left);
    if (!status)
        status = cublasLtMatmulDescSetAttribute(way->operation, CUBLASLT_MATMUL_DESC_TRANSB, &right,
                                                sizeof right);
    if (!status && is_fast) /* sums of forward passes with fewer bits, but not those of gradients */
        status = cublasLtMatmulDescSetAttribute(way->operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                                                &is_fast, sizeof is_fast);
    if (!status)
        status = lay_out(&way->left, types[key->b_number], b_rows, b_columns, key->b_stride);
    if (!status)
        status = lay_out(&way->right, types[key->a_number], a_rows, a_columns, key->a_stride);
    if (!status)
        status = lay_out(&way->out, types[key->c_number], key->rows, key->columns, key->c_stride);
    return status;
}

/* Tells how the matrices are aligned. cuBLASLt would assume 256 bytes, but a tensor may begin
 * anywhere among the weights, and a part of a matrix anywhere in a row. */
static cublasStatus_t prefer(cublasLtMatmulPreference_t preference, uint32_t alignment)
{
    static const cublasLtMatmulPreferenceAttributes_t names[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
    };
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; i < sizeof names / sizeof *names && !status; i++)
        status = cublasLtMatmulPreferenceSetAttribute(preference, names[i], &alignment,
                                                      sizeof alignment);
    return status;
}

/* Where the matrices lie: out = left right + beta * added. */
struct place {
    const void *left, *right, *added;
    void *out;
    float beta;
    const float *left_scale, *right_scale; /* NULL: 1 */
};

static cublasStatus_t set_scales(const struct way *way, const struct place *place)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (place->left_scale)
        status =
            cublasLtMatmulDescSetAttribute(way->operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                           &place->left_scale, sizeof place->left_scale);
    if (place->right_scale && !status)
        status =
            cublasLtMatmulDescSetAttribute(way->operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                           &place->right_scale, sizeof place->right_scale);
    return status;
}

static cublasStatus_t run(struct kernels *kernels, const struct way *way,
                          const cublasLtMatmulAlgo_t *algorithm, const struct place *place)
{
    const float one = 1;
    return cublasLtMatmul(kernels->products->library, way->operation, &one, place->left, way->left,
                          place->right, way->right, &place->beta, place->added, way->out,
                          place->out, way->out, algorithm, kernels->workspace, BACKEND_WORKSPACE,
                          kernels->stream);
}

/* Keeps the fastest proposal. If the product adds to its output, it is measured with an output of
 * its own, and if there is no memory for that, the first proposal stays. */
static void measure(struct kernels *kernels, struct way *way,
                    const cublasLtMatmulHeuristicResult_t *proposals, int count, struct place place)
{
    cudaEvent_t begin = NULL, end = NULL;
    void *own = NULL;
    float best_ms = INFINITY;
    size_t bytes = way->key.rows * way->key.c_stride * (way->key.c_number == PRODUCT_FLOAT ? 4 : 2);
    if (place.beta != 0 && cudaMalloc(&own, bytes) != cudaSuccess) {
        (void)cudaGetLastError(); /* it must not look like an error of the next call */
        return;
    }
    place.out = own ? own : place.out;
    bool is_going = backend_check(kernels, cudaEventCreate(&begin), "making an event") &&
                    backend_check(kernels, cudaEventCreate(&end), "making an event");
    for (int i = 0; i < count && is_going; i++) {
        float ms = INFINITY;
        cublasStatus_t status = run(kernels, way, &proposals[i].algo, &place);
        is_going = backend_check(kernels, cudaEventRecord(begin, kernels->stream), "marking");
        for (int turn = 0; turn < TURNS && !status; turn++)
            status = run(kernels, way, &proposals[i].algo, &place);
        is_going = is_going &&
                   backend_check(kernels, cudaEventRecord(end, kernels->stream), "marking") &&
                   kernels_status(kernels, NULL) == 0;
        if (is_going && !status && cudaEventElapsedTime(&ms, begin, end) == cudaSuccess &&
            ms < best_ms) {
            best_ms = ms;
            way->algorithm = proposals[i].algo;
        }
    }
    if (kernels->is_failed)
        return;
    kernels_release(kernels, own);
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
}

/* Moves the proposals that can be used to the front. Returns how many there are. */
static int keep_usable(cublasLtMatmulHeuristicResult_t *proposals, int count)
{
    int usable = 0;
    for (int i = 0; i < count; i++)
        if (proposals[i].state == CUBLAS_STATUS_SUCCESS)
            proposals[usable++] = proposals[i];
    return usable;
}

/* Returns how to multiply such matrices; NULL on failure, which is kept. */
static const struct way *find(struct kernels *kernels, const struct key *key,
                              const struct place *place)
{
    struct products *products = kernels->products;
    cublasLtMatmulHeuristicResult_t proposals[PROPOSALS_MAX];
    int most = key->rows <= KERNEL_STEP_ROWS ? 1 : PROPOSALS_MAX; /* steps are not measured */
    struct error err;
    int found = 0;
    for (size_t i = 0; i < products->count; i++)
        if (memcmp(&products->ways[i].key, key, sizeof *key) == 0)
            return &products->ways[i];
    struct way *way = &products->ways[products->next];
    if (products->next < products->count)
        forget(way);
    else
        products->count++;
    products->next = (products->next + 1) % WAYS_MAX;
    *way = (struct way){.key = *key};
    cublasStatus_t status = describe(way);
    if (!status)
        status = set_scales(way, place);
    if (!status)
        status = prefer(products->preference, (uint32_t)key->alignment);
    if (!status)
        status = cublasLtMatmulAlgoGetHeuristic(products->library, way->operation, way->left,
                                                way->right, way->out, way->out,
                                                products->preference, most, proposals, &found);
    found = keep_usable(proposals, found);
    if (!status && !found)
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (!status) {
        way->algorithm = proposals[0].algo;
        if (found > 1)
            measure(kernels, way, proposals, found, *place);
        return way;
    }
    (void)fail(&err, status, "setting up a product of matrices");
    backend_fail(kernels, &err);
    return NULL;
}

/* Returns the largest power of two, up to ALIGNMENT_MAX, of which all addresses are multiples. */
static size_t alignment_of(const void *a, const void *b, const void *c)
{
    uintptr_t bits = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | ALIGNMENT_MAX;
    return bits & (~bits + 1);
}

void products_multiply(struct kernels *kernels, void *c, size_t c_stride, struct factor a,
                       struct factor b, size_t rows, size_t inner, size_t columns,
                       enum product_number number, enum kernel_mode mode)
{
    const struct place place = {b.data, a.data, c, c, mode == KERNEL_ADD, b.scale, a.scale};
    const struct key key = {
        .rows = rows,
        .inner = inner,
        .columns = columns,
        .a_stride = a.stride,
        .b_stride = b.stride,
        .c_stride = c_stride,
        .a_turned = a.is_turned,
        .b_turned = b.is_turned,
        .a_number = a.number,
        .b_number = b.number,
        .c_number = number,
        .alignment = alignment_of(a.data, b.data, c),
    };
    struct error err;
    if (kernels->is_failed)
        return;
    const struct way *way = find(kernels, &key, &place);
    if (!way || kernels->is_failed)
        return;
    cublasStatus_t status = set_scales(way, &place);
    if (!status)
        status = run(kernels, way, &way->algorithm, &place);
    if (!status)
        return;
    (void)fail(&err, status, "multiplying matrices");
    backend_fail(kernels, &err);
}
