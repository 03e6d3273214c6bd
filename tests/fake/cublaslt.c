/* Products of matrices for tests, with cuBLASLt's interface, computed slowly. The third way is the
 * fastest. FAKE_CUDA:
 *
 *   drift=3      from its 100th product on, device 3 gets the last bit of one entry wrong
 *   wrong=3      one factor is wrong everywhere on device 3
 *   unsupported  there is no way to multiply
 *   split        each sum has parts, which are of the type of the output if the program allows it
 *   void         the first of several proposals cannot be used
 *   ways         tells at the end how many products were made in each way */
#include "tests/fake/cuda.h"

#include <cublasLt.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct layout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t line;
};

struct operation {
    cublasOperation_t left, right;
    const float *left_scale, *right_scale; /* NULL: 1 */
    int8_t is_fast;
};

struct product {
    struct operation operation;
    struct layout left, right, out;
    const void *a, *b;
    const void *added;
    void *c;
    float beta;
    bool is_rounded; /* the sum, after each part */
};

/* The last factors of a device and their product, in case that the same is asked again. */
struct kept {
    struct operation operation;
    struct layout left, right;
    uint64_t factors; /* their checksum */
    float *sums;
};

static int library;              /* only its address counts */
static uint32_t alignment = 256; /* of all matrices, as the program has told last */
static uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK; /* the same for parts of sums */
static unsigned product_counts[FAKE_DEVICES], way_counts[4];

__attribute__((destructor)) static void tell_ways(void)
{
    if (fake_said("ways") >= 0)
        fprintf(stderr, "ways: %u %u %u %u\n", way_counts[0], way_counts[1], way_counts[2],
                way_counts[3]);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "an error of the fake";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = (cublasLtHandle_t)(void *)&library;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    fake_check("cublasLtDestroy()");
    return handle == (cublasLtHandle_t)(void *)&library ? CUBLAS_STATUS_SUCCESS
                                                        : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description,
                                        cublasComputeType_t compute, cudaDataType_t scale)
{
    struct operation *made = malloc(sizeof *made);
    if (!made)
        abort();
    *made = (struct operation){CUBLAS_OP_N, CUBLAS_OP_N, NULL, NULL, 0};
    *description = (cublasLtMatmulDesc_t)(void *)made;
    return compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS
                                                                : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description)
{
    free(description);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size)
{
    struct operation *operation = (void *)description;
    const struct {
        cublasLtMatmulDescAttributes_t attribute;
        void *place;
        size_t size;
    } rows[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, &operation->left, sizeof operation->left},
        {CUBLASLT_MATMUL_DESC_TRANSB, &operation->right, sizeof operation->right},
        {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &operation->left_scale, sizeof(float *)},
        {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &operation->right_scale, sizeof(float *)},
        {CUBLASLT_MATMUL_DESC_FAST_ACCUM, &operation->is_fast, sizeof operation->is_fast},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].attribute == attribute && rows[i].size == size) {
            memcpy(rows[i].place, value, size);
            return CUBLAS_STATUS_SUCCESS;
        }
    return CUBLAS_STATUS_INVALID_VALUE;
}

static bool is_of_8_bits(cudaDataType type)
{
    return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t line)
{
    struct layout *made = malloc(sizeof *made);
    if (!made)
        abort();
    *made = (struct layout){type, rows, columns, line};
    *layout = (cublasLtMatrixLayout_t)(void *)made;
    return (type == CUDA_R_16BF || type == CUDA_R_32F || is_of_8_bits(type)) &&
                   line >= (int64_t)rows
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = (cublasLtMatmulPreference_t)(void *)&library;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    (void)preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size)
{
    (void)preference;
    switch ((int)attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return size == sizeof(uint64_t) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        if (size != sizeof schemes)
            return CUBLAS_STATUS_INVALID_VALUE;
        memcpy(&schemes, value, size);
        return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        if (size != sizeof alignment)
            return CUBLAS_STATUS_INVALID_VALUE;
        memcpy(&alignment, value, size);
        return CUBLAS_STATUS_SUCCESS;
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

/* Returns the sizes of a factor as the product uses it. */
static struct layout turned(struct layout layout, cublasOperation_t operation)
{
    if (operation == CUBLAS_OP_T)
        return (struct layout){layout.type, layout.columns, layout.rows, layout.line};
    return layout;
}

/* Hopper multiplies numbers of 8 bits only if the inner dimension of both factors is contiguous,
 * and not two factors of e5m2. All sizes are multiples of 16. The fake also refuses fast sums of
 * gradients, which Hopper would compute. */
static bool is_possible_with_8_bits(const struct operation *operation, const struct layout *left,
                                    const struct layout *right, const struct layout *out)
{
    bool is_forward = left->type == CUDA_R_8F_E4M3 && right->type == CUDA_R_8F_E4M3;
    return operation->left == CUBLAS_OP_T && operation->right == CUBLAS_OP_N &&
           operation->is_fast == is_forward && is_of_8_bits(left->type) &&
           is_of_8_bits(right->type) &&
           (left->type == CUDA_R_8F_E4M3 || right->type == CUDA_R_8F_E4M3) &&
           out->type == CUDA_R_16BF && left->line % 16 == 0 && right->line % 16 == 0 &&
           out->rows % 16 == 0 && out->columns % 16 == 0;
}

/* cuBLASLt refuses matrices of bf16 whose columns do not begin at multiples of 16 bytes, at least
 * for its fast kernels. */
static bool is_possible(const struct operation *operation, const struct layout *left,
                        const struct layout *right, const struct layout *out)
{
    struct layout a = turned(*left, operation->left), b = turned(*right, operation->right);
    bool is_matching = a.rows == out->rows && b.columns == out->columns && a.columns == b.rows;
    if (is_of_8_bits(left->type) || is_of_8_bits(right->type))
        return is_matching && is_possible_with_8_bits(operation, left, right, out);
    return is_matching && left->type == CUDA_R_16BF && right->type == CUDA_R_16BF &&
           left->line % 8 == 0 && right->line % 8 == 0 && out->line % 8 == 0;
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                               cublasLtMatrixLayout_t left, cublasLtMatrixLayout_t right,
                               cublasLtMatrixLayout_t added, cublasLtMatrixLayout_t out,
                               cublasLtMatmulPreference_t preference, int most,
                               cublasLtMatmulHeuristicResult_t *ways, int *count)
{
    (void)handle, (void)added, (void)preference;
    bool is_any = fake_said("unsupported") < 0 &&
                  is_possible((void *)description, (void *)left, (void *)right, (void *)out);
    for (*count = 0; is_any && *count < most && *count < 4; ++*count) {
        memset(&ways[*count], 0, sizeof *ways);
        ways[*count].algo.data[0] = alignment; /* it may use that */
        ways[*count].algo.data[1] = (uint64_t)*count;
        if (fake_said("void") >= 0 && most > 1 && *count == 0)
            ways[*count] = (cublasLtMatmulHeuristicResult_t){.state = CUBLAS_STATUS_NOT_SUPPORTED};
        ways[*count].algo.data[2] =
            fake_said("split") >= 0 && schemes != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static float wide_of_8_bits(uint8_t bits, cudaDataType type)
{
    int mantissa = type == CUDA_R_8F_E5M2 ? 2 : 3, lowest = type == CUDA_R_8F_E5M2 ? -14 : -6;
    int exponent = (bits & 0x7f) >> mantissa, part = bits & ((1 << mantissa) - 1);
    bool is_none = type == CUDA_R_8F_E5M2 ? exponent == 31 : (bits & 0x7f) == 0x7f;
    float size = exponent
                     ? ldexpf((float)(part + (1 << mantissa)), lowest + exponent - 1 - mantissa)
                     : ldexpf((float)part, lowest - mantissa);
    return is_none ? NAN : bits & 0x80 ? -size : size;
}

/* Returns element (row, column) of a factor as the product uses it. */
static float element(const void *data, const struct layout *layout, cublasOperation_t operation,
                     uint64_t row, uint64_t column)
{
    uint64_t line = (uint64_t)layout->line;
    uint64_t at = operation == CUBLAS_OP_T ? row * line + column : column * line + row;
    if (is_of_8_bits(layout->type))
        return wide_of_8_bits(((const uint8_t *)data)[at], layout->type);
    return fake_wide(((const uint16_t *)data)[at]);
}

/* sum[i] += factor[i] * right, four at a time. */
static void add_multiple(float *sum, const float *factor, float right, size_t count)
{
    typedef float lanes4 __attribute__((vector_size(16), aligned(4), may_alias));
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        *(lanes4 *)(sum + i) += *(const lanes4 *)(factor + i) * right;
    for (; i < count; i++)
        sum[i] += factor[i] * right;
}

/* Returns the product of the factors, by columns. Each sum has the order of the inner dimension,
 * and begins with `offset`. */
static float *multiply(const struct product *product, float offset)
{
    struct layout a = turned(product->left, product->operation.left);
    size_t rows = a.rows, depth = a.columns, columns = product->out.columns;
    float *left = malloc(rows * depth * sizeof *left),
          *sums = malloc(rows * columns * sizeof *sums);
    if (!left || !sums)
        abort();
    for (size_t i = 0; i < depth; i++)
        for (size_t row = 0; row < rows; row++)
            left[i * rows + row] =
                element(product->a, &product->left, product->operation.left, row, i);
    for (size_t column = 0; column < columns; column++) {
        float *sum = sums + column * rows;
        for (size_t row = 0; row < rows; row++)
            sum[row] = offset;
        for (size_t i = 0; i < depth; i++) {
            float right = element(product->b, &product->right, product->operation.right, i, column);
            add_multiple(sum, left + i * rows, right, rows);
            for (size_t row = 0; product->is_rounded && row < rows; row++)
                sum[row] = fake_wide(fake_narrow(sum[row]));
        }
    }
    free(left);
    return sums;
}

/* Writes or adds the scaled sums. */
static void store(const struct product *product, const float *sums)
{
    const float *left_scale = product->operation.left_scale;
    const float *right_scale = product->operation.right_scale;
    float scale = (left_scale ? *left_scale : 1) * (right_scale ? *right_scale : 1);
    bool is_float = product->out.type == CUDA_R_32F;
    float *floats = product->c;
    uint16_t *bfloats = product->c;
    const float *added_floats = product->added;
    const uint16_t *added_bfloats = product->added;
    for (uint64_t column = 0; column < product->out.columns; column++)
        for (uint64_t row = 0; row < product->out.rows; row++) {
            size_t place = column * (uint64_t)product->out.line + row;
            float sum = *sums++ * scale;
            if (product->beta != 0)
                sum += product->beta *
                       (is_float ? added_floats[place] : fake_wide(added_bfloats[place]));
            if (is_float)
                floats[place] = sum;
            else
                bfloats[place] = fake_narrow(sum);
        }
}

/* A change of a high bit must reach the low bits, too. */
static uint64_t mixed(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    return sum ^ sum >> 32;
}

/* Eight bytes at a time: a factor is summed more often than it is multiplied. */
static uint64_t checksum(const void *data, const struct layout *layout, uint64_t sum)
{
    size_t bytes = is_of_8_bits(layout->type) ? 1 : sizeof(uint16_t);
    size_t length = layout->rows * bytes;
    for (uint64_t column = 0; column < layout->columns; column++) {
        const uint8_t *from = (const uint8_t *)data + column * (uint64_t)layout->line * bytes;
        size_t byte = 0;
        for (uint64_t word; byte + sizeof word <= length; byte += sizeof word) {
            memcpy(&word, from + byte, sizeof word);
            sum = mixed(sum, word);
        }
        for (; byte < length; byte++)
            sum = mixed(sum, from[byte]);
    }
    return sum;
}

/* Multiplies, unless the last factors were the same: one product is repeated to measure it. */
static bool act_product(struct fake_work *work)
{
    static struct kept kept[FAKE_DEVICES];
    struct product *product = work->other;
    int device = work->stream->device;
    struct kept *last = &kept[device];
    uint64_t factors =
        checksum(product->b, &product->right, checksum(product->a, &product->left, 1));
    if (!last->sums || last->factors != factors ||
        memcmp(&last->left, &product->left, sizeof last->left) != 0 ||
        memcmp(&last->right, &product->right, sizeof last->right) != 0 ||
        last->operation.left != product->operation.left ||
        last->operation.right != product->operation.right) {
        free(last->sums);
        *last = (struct kept){product->operation, product->left, product->right, factors,
                              multiply(product, device == fake_said("wrong") ? 1 : 0)};
    }
    store(product, last->sums);
    if (device == fake_said("drift") && product_counts[device]++ >= 100)
        *(uint16_t *)product->c ^= 1;
    return true;
}

static bool is_in_memory(const void *data, const struct layout *layout)
{
    size_t size = layout->type == CUDA_R_32F ? sizeof(float) : is_of_8_bits(layout->type) ? 1 : 2;
    return fake_holds(data, ((layout->columns - 1) * (size_t)layout->line + layout->rows) * size);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t left,
                              const void *b, cublasLtMatrixLayout_t right, const void *beta,
                              const void *c, cublasLtMatrixLayout_t added, void *d,
                              cublasLtMatrixLayout_t out, const cublasLtMatmulAlgo_t *way,
                              void *workspace, size_t workspace_size, cudaStream_t stream)
{
    struct product *product = calloc(1, sizeof *product);
    (void)handle, (void)workspace, (void)workspace_size;
    if (!product || *(const float *)alpha != 1)
        abort();
    if (!way->data[0] || ((uintptr_t)a | (uintptr_t)b | (uintptr_t)d) % way->data[0]) {
        free(product);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (!is_in_memory(a, (void *)left) || !is_in_memory(b, (void *)right) ||
        !is_in_memory(c, (void *)added) || !is_in_memory(d, (void *)out)) {
        free(product);
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    product->operation = *(struct operation *)(void *)description;
    product->left = *(struct layout *)(void *)left;
    product->right = *(struct layout *)(void *)right;
    product->out = *(struct layout *)(void *)out;
    product->a = a;
    product->b = b;
    product->added = c;
    product->c = d;
    product->beta = *(const float *)beta;
    product->is_rounded = product->out.type == CUDA_R_16BF && way->data[2];
    way_counts[way->data[1]]++;
    double operations = (way->data[1] == 2 ? 1 : 2) * (double)product->out.rows *
                        (double)product->out.columns *
                        (double)turned(product->left, product->operation.left).columns;
    return fake_queue(stream, (struct fake_work){.act = act_product,
                                                 .ns = operations / FAKE_PRODUCT_RATE,
                                                 .other = product,
                                                 .owned = product})
               ? CUBLAS_STATUS_EXECUTION_FAILED
               : CUBLAS_STATUS_SUCCESS;
}
