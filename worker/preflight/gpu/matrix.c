/* Products of two square matrices of random bf16, by cuBLASLt, on all GPUs at once as in training,
 * because the GPUs share power and cooling. The matrices are random, because matrices of zeros need
 * less power and run faster.
 *
 * An element of the product is row i of one matrix times row j of the other: both are stored by
 * rows. A sample of the product is computed again here, and the bits of the last product must be
 * those of the first. */
#include "worker/preflight/gpu/bench.h"
#include "worker/preflight/gpu/kernels.h"
#include "worker/preflight/reference.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

enum {
    ROUNDS = 200, /* a third of a second on a Hopper GPU, so that clocks settle */
    WARM_ROUNDS = 20,
    SAMPLES = 128,
    WORKSPACE = 32 << 20, /* the size that cuBLAS wants on Hopper */
    SEED = 700,
};

struct matrix {
    void *left, *right, *product, *workspace;
    uint16_t *samples; /* on the host */
    cublasLtHandle_t library;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout; /* of all three matrices: square, and without gaps */
    cublasLtMatmulHeuristicResult_t way;
    unsigned long long first_sum;
};

static int check_library(struct bench *bench, unsigned device, cublasStatus_t status,
                         const char *doing)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH ||
        status == CUBLAS_STATUS_ALLOC_FAILED)
        return bench_tell_unknown(bench, (int)device, "%s: %s", doing,
                                  cublasLtGetStatusString(status));
    return bench_tell_failed(bench, (int)device, "%s: %s", doing, cublasLtGetStatusString(status));
}

static int open_library(struct bench *bench, unsigned device, struct matrix *matrix)
{
    cublasOperation_t turned = CUBLAS_OP_T;
    cublasLtMatmulPreference_t preference = NULL;
    uint64_t n = bench->size, workspace = WORKSPACE;
    int count = 0;
    cublasStatus_t status = cublasLtCreate(&matrix->library);
    if (!status)
        status = cublasLtMatmulDescCreate(&matrix->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (!status) /* the left matrix is stored by rows, which cuBLAS takes for columns */
        status = cublasLtMatmulDescSetAttribute(matrix->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                &turned, sizeof turned);
    if (!status)
        status = cublasLtMatrixLayoutCreate(&matrix->layout, CUDA_R_16BF, n, n, (int64_t)n);
    if (!status)
        status = cublasLtMatmulPreferenceCreate(&preference);
    if (!status)
        status = cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (!status)
        status = cublasLtMatmulAlgoGetHeuristic(matrix->library, matrix->operation, matrix->layout,
                                                matrix->layout, matrix->layout, matrix->layout,
                                                preference, 1, &matrix->way, &count);
    if (!status && !count)
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    return check_library(bench, device, status, "setting up a product of matrices");
}

static int prepare_product(struct bench *bench, unsigned device, struct matrix *matrix)
{
    struct CUstream_st *stream = bench->devices[device].stream;
    size_t elements = (size_t)(bench->size * bench->size), bytes = elements * sizeof(uint16_t);
    void *samples = NULL;
    if (bench_choose(bench, device) < 0 ||
        bench_allocate(bench, device, bytes, &matrix->left) < 0 ||
        bench_allocate(bench, device, bytes, &matrix->right) < 0 ||
        bench_allocate(bench, device, bytes, &matrix->product) < 0 ||
        bench_allocate(bench, device, WORKSPACE, &matrix->workspace) < 0 ||
        bench_check(bench, device,
                    cudaHostAlloc(&samples, SAMPLES * sizeof(uint16_t), cudaHostAllocDefault),
                    "pinning memory of the node") < 0 ||
        bench_check(bench, device, kernels_fill_bfloats(matrix->left, elements / 8, SEED, stream),
                    "filling memory") < 0 ||
        bench_check(bench, device,
                    kernels_fill_bfloats(matrix->right, elements / 8, SEED + 1, stream),
                    "filling memory") < 0)
        return -1;
    matrix->samples = samples;
    return open_library(bench, device, matrix);
}

static int multiply(struct bench *bench, unsigned device, struct matrix *matrix)
{
    const float one = 1, zero = 0;
    return check_library(bench, device,
                         cublasLtMatmul(matrix->library, matrix->operation, &one, matrix->left,
                                        matrix->layout, matrix->right, matrix->layout, &zero,
                                        matrix->product, matrix->layout, matrix->product,
                                        matrix->layout, &matrix->way.algo, matrix->workspace,
                                        WORKSPACE, bench->devices[device].stream),
                         "multiplying matrices");
}

/* Queues `rounds` products, and the checksum of the last one. */
static int queue(struct bench *bench, unsigned device, struct matrix *matrix, int rounds)
{
    struct bench_device *own = &bench->devices[device];
    size_t words = (size_t)(bench->size * bench->size) * sizeof(uint16_t) / sizeof(uint64_t);
    if (bench_choose(bench, device) < 0 || bench_reset_counter(bench, device) < 0 ||
        bench_mark_begin(bench, device) < 0)
        return -1;
    for (int i = 0; i < rounds; i++)
        if (multiply(bench, device, matrix) < 0)
            return -1;
    if (bench_mark_end(bench, device) < 0 ||
        bench_check(bench, device,
                    kernels_checksum(matrix->product, words, own->counter, own->stream),
                    "summing up a product") < 0)
        return -1;
    return bench_fetch_counter(bench, device);
}

/* Returns the place of the sample `i`. The product is stored column by column. */
static uint64_t sample_place(const struct bench *bench, unsigned i)
{
    return reference_word(SEED, i) % (bench->size * bench->size);
}

static int queue_samples(struct bench *bench, unsigned device, struct matrix *matrix)
{
    for (unsigned i = 0; i < SAMPLES; i++)
        if (bench_check(bench, device,
                        cudaMemcpyAsync(&matrix->samples[i],
                                        (uint16_t *)matrix->product + sample_place(bench, i),
                                        sizeof(uint16_t), cudaMemcpyDeviceToHost,
                                        bench->devices[device].stream),
                        "reading a product") < 0)
            return -1;
    return 0;
}

static int end(struct bench *bench, unsigned device, struct matrix *matrix)
{
    double seconds, n = (double)bench->size;
    unsigned wrong = 0;
    if (bench_wait(bench, device, "multiplying matrices") < 0 ||
        bench_seconds(bench, device, &seconds) < 0)
        return -1;
    bench_tell_figure(bench, FIGURE_MATRIX, device, 0, 2 * n * n * n * ROUNDS / seconds / 1e12);
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t place = sample_place(bench, i);
        int64_t product = reference_product(SEED, place % bench->size, SEED + 1,
                                            place / bench->size, bench->size);
        wrong += !reference_product_matches(matrix->samples[i], product);
    }
    if (wrong)
        bench_tell_wrong(bench, device, 0, "%u of %d entries of a product are wrong", wrong,
                         SAMPLES);
    if (*bench->devices[device].counter_here != matrix->first_sum)
        bench_tell_wrong(bench, device, 0, "the same product came out differently");
    return 0;
}

int matrix_measure(struct bench *bench)
{
    static struct matrix matrices[FACTS_GPUS_MAX];
    if (bench->size % 8)
        return bench_tell_unknown(bench, BENCH_NO_DEVICE,
                                  "matrices need sides of a multiple of 8 elements");
    for (unsigned i = 0; i < bench->device_count; i++)
        if (prepare_product(bench, i, &matrices[i]) < 0 ||
            queue(bench, i, &matrices[i], WARM_ROUNDS) < 0)
            return -1;
    for (unsigned i = 0; i < bench->device_count; i++) {
        if (bench_wait(bench, i, "multiplying matrices") < 0)
            return -1;
        matrices[i].first_sum = *bench->devices[i].counter_here;
    }
    for (unsigned i = 0; i < bench->device_count; i++)
        if (queue(bench, i, &matrices[i], ROUNDS) < 0 || queue_samples(bench, i, &matrices[i]) < 0)
            return -1;
    for (unsigned i = 0; i < bench->device_count; i++)
        if (end(bench, i, &matrices[i]) < 0)
            return -1;
    return 0;
}
