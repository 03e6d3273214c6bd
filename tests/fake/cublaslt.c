/* Products of matrices for tests, with cuBLASLt's interface, computed slowly. FAKE_CUDA may say
 * `drift=3`: from its 100th product on, device 3 gets the last bit of one entry wrong; `wrong=3`:
 * one factor is wrong everywhere on device 3; `unsupported`: there is no way to multiply. */
#include "tests/fake/cuda.h"

#include <cublasLt.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct layout {
    uint64_t rows, columns;
    int64_t line;
};

struct product {
    struct layout left, right, out;
    const uint16_t *a, *b;
    bool is_turned;
};

static struct {
    cublasOperation_t left, right;
} operation; /* the same for all */

static unsigned product_counts[FAKE_DEVICES];

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "an error of the fake";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = (cublasLtHandle_t)&operation;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description,
                                        cublasComputeType_t compute, cudaDataType_t scale)
{
    *description = (cublasLtMatmulDesc_t)(void *)&operation;
    return compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS
                                                                : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size)
{
    (void)description;
    if (attribute != CUBLASLT_MATMUL_DESC_TRANSA || size != sizeof operation.left)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(&operation.left, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t line)
{
    struct layout *made = malloc(sizeof *made);
    if (!made || type != CUDA_R_16BF)
        abort();
    *made = (struct layout){rows, columns, line};
    *layout = (cublasLtMatrixLayout_t)(void *)made;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = (cublasLtMatmulPreference_t)(void *)&operation;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size)
{
    (void)preference;
    (void)value;
    return attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && size == sizeof(uint64_t)
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                               cublasLtMatrixLayout_t left, cublasLtMatrixLayout_t right,
                               cublasLtMatrixLayout_t added, cublasLtMatrixLayout_t out,
                               cublasLtMatmulPreference_t preference, int most,
                               cublasLtMatmulHeuristicResult_t *ways, int *count)
{
    (void)handle, (void)description, (void)left, (void)right, (void)added, (void)out;
    (void)preference;
    memset(ways, 0, sizeof *ways);
    *count = most && fake_said("unsupported") < 0 ? 1 : 0;
    return CUBLAS_STATUS_SUCCESS;
}

static float wide(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even. */
static uint16_t narrow(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static void multiply(const struct product *product, uint16_t *out, float offset)
{
    uint64_t depth = product->right.rows;
    for (uint64_t column = 0; column < product->out.columns; column++)
        for (uint64_t row = 0; row < product->out.rows; row++) {
            float sum = offset;
            for (uint64_t i = 0; i < depth; i++) {
                int64_t left = product->is_turned ? (int64_t)row * product->left.line + (int64_t)i
                                                  : (int64_t)i * product->left.line + (int64_t)row;
                sum += wide(product->a[left]) *
                       wide(product->b[(int64_t)column * product->right.line + (int64_t)i]);
            }
            out[(int64_t)column * product->out.line + (int64_t)row] = narrow(sum);
        }
}

/* Computes the first product of a device. Later products are copies, because the factors do not
 * change. */
static bool act_product(struct fake_work *work)
{
    static uint16_t *kept[FAKE_DEVICES];
    struct product *product = work->other;
    uint16_t *out = work->to;
    int device = work->stream->device;
    size_t bytes = (size_t)product->out.line * product->out.columns * sizeof *out;
    if (!kept[device]) {
        kept[device] = malloc(bytes);
        if (!kept[device])
            abort();
        multiply(product, kept[device], device == fake_said("wrong") ? 1 : 0);
    }
    memcpy(out, kept[device], bytes);
    if (device == fake_said("drift") && product_counts[device]++ >= 100)
        out[0] ^= 1;
    free(product);
    return true;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t left,
                              const void *b, cublasLtMatrixLayout_t right, const void *beta,
                              const void *c, cublasLtMatrixLayout_t added, void *d,
                              cublasLtMatrixLayout_t out, const cublasLtMatmulAlgo_t *way,
                              void *workspace, size_t workspace_size, cudaStream_t stream)
{
    struct product *product = malloc(sizeof *product);
    (void)handle, (void)description, (void)added, (void)way, (void)workspace, (void)workspace_size;
    if (!product || *(const float *)alpha != 1 || *(const float *)beta != 0 || c != d)
        abort();
    *product = (struct product){.left = *(struct layout *)(void *)left,
                                .right = *(struct layout *)(void *)right,
                                .out = *(struct layout *)(void *)out,
                                .a = a,
                                .b = b,
                                .is_turned = operation.left == CUBLAS_OP_T};
    double operations =
        2 * (double)product->out.rows * (double)product->out.columns * (double)product->right.rows;
    return fake_queue(stream, (struct fake_work){.act = act_product,
                                                 .ns = operations / FAKE_PRODUCT_RATE,
                                                 .to = d,
                                                 .other = product})
               ? CUBLAS_STATUS_EXECUTION_FAILED
               : CUBLAS_STATUS_SUCCESS;
}
